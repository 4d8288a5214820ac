"""Small functions that draw one piece of a page and return values."""
