"""Routing search for the MARGOT family."""
