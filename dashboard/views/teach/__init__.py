"""Views of the page Teach."""
