"""svm1-odt: its declaration, model and the parts that only it has."""

from octcore.formulations.svm1_odt import declaration as declaration
