"""Lessons, their texts and their drawings; no Streamlit."""
