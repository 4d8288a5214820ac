"""Views of the page Explore."""
