"""The Streamlit app; `app.py` is its entry point."""
