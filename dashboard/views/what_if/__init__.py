"""Views of the page What if."""
