"""oct-h: its declaration, model and the parts that only it has."""

from octcore.formulations.oct_h import declaration as declaration
