"""Views of the page Tune."""
