"""bend-oct: its declaration, model and the parts that only it has."""

from octcore.formulations.bend_oct import declaration as declaration
