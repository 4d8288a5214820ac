"""SVM1-ODT: its trees, its program and model."""

from octcore.formulations.svm1_odt import model as model
