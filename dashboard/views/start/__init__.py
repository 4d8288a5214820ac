"""Views of the page Start."""
