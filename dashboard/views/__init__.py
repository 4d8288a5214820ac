"""The parts of each page, by page."""
