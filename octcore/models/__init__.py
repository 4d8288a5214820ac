"""Stored models (JSON only) and new rows through them."""
