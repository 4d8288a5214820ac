"""Views of the page Solve."""
