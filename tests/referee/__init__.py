"""Optima by plain enumeration; nothing here imports the package that is judged."""
