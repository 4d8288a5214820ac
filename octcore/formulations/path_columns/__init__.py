"""path-columns: its declaration, model and the parts that only it has."""

from octcore.formulations.path_columns import declaration as declaration
