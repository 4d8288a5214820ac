"""Views of the page Alternatives."""
