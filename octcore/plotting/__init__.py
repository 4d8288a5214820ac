"""Figures: data to a small record, record to a figure; nothing here imports streamlit."""
