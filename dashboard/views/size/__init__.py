"""Views of the page Size."""
