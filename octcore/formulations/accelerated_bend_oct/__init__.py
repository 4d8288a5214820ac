"""accelerated-bend-oct: its declaration, model and the parts that only it has."""

from octcore.formulations.accelerated_bend_oct import declaration as declaration
