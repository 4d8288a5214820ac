"""path-columns: its columns and searches, its program and model."""

from octcore.formulations.path_columns import model as model
