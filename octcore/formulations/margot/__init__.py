"""MARGOT and its variants with hard and soft feature selection."""

from octcore.formulations.margot import declarations as declarations
