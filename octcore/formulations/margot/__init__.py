"""MARGOT and its variants with hard and soft feature selection."""

from octcore.formulations.margot import hfs_margot as hfs_margot
from octcore.formulations.margot import margot as margot
from octcore.formulations.margot import sfs_margot as sfs_margot
