"""s-oct: its declaration, model and the parts that only it has."""

from octcore.formulations.s_oct import declaration as declaration
