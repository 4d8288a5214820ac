"""Pages that are generated from declarations, and the written documentation."""
