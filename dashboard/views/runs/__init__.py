"""Views of the page Runs."""
