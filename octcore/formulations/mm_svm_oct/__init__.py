"""mm-svm-oct: its declaration, model and the parts that only it has."""

from octcore.formulations.mm_svm_oct import declaration as declaration
