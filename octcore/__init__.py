"""Optimal classification trees, trained to proven optimality on free solvers.

The public names are loaded on first use, so that ``import octcore`` costs next to nothing.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from octcore.data.grouping import class_versus_rest
    from octcore.data.reading import read_csv
    from octcore.data.samples import list_samples, load_sample
    from octcore.encoding.transformers import QuantileBuckets, QuantileThresholds
    from octcore.errors import (
        DataError,
        ModelFileError,
        OctError,
        SettingsError,
        TooLargeError,
    )
    from octcore.estimator.classifier import OptimalTreeClassifier
    from octcore.estimator.named import (
        AcceleratedBendOCTClassifier,
        BendOCTClassifier,
        BinOCTClassifier,
        CARTClassifier,
        FlowOCTClassifier,
        HFSMargotClassifier,
        MargotClassifier,
        MMSVMOCTClassifier,
        OCTBinaryClassifier,
        OCTClassifier,
        OCTHClassifier,
        PathColumnsClassifier,
        PathSearchClassifier,
        SFSMargotClassifier,
        SOCTClassifier,
        SVM1ODTClassifier,
        ThresholdSearchClassifier,
    )
    from octcore.formulations.base import list_formulations as formulations
    from octcore.models.file import load_model
    from octcore.selection.binarization import BinarizationPath, binarization_path
    from octcore.selection.comparing import compare
    from octcore.selection.data_selection import select_rows
    from octcore.selection.near_optimal import NearOptimalTrees, near_optimal
    from octcore.selection.one_vs_rest import solve_one_vs_rest
    from octcore.selection.penalty_path import penalty_path
    from octcore.selection.selected_training import solve_selected
    from octcore.selection.tuning import tune
    from octcore.solving.run import Run
    from octcore.solving.solve import solve
    from octcore.tasks import ASK
    from octcore.tree.tree import Split, Tree
    from octcore.verification import verify

_HOME = {
    "ASK": "octcore.tasks",
    "BinarizationPath": "octcore.selection.binarization",
    "DataError": "octcore.errors",
    "ModelFileError": "octcore.errors",
    "NearOptimalTrees": "octcore.selection.near_optimal",
    "OctError": "octcore.errors",
    "OptimalTreeClassifier": "octcore.estimator.classifier",
    "QuantileBuckets": "octcore.encoding.transformers",
    "QuantileThresholds": "octcore.encoding.transformers",
    "Run": "octcore.solving.run",
    "SettingsError": "octcore.errors",
    "Split": "octcore.tree.tree",
    "TooLargeError": "octcore.errors",
    "Tree": "octcore.tree.tree",
    "binarization_path": "octcore.selection.binarization",
    "class_versus_rest": "octcore.data.grouping",
    "compare": "octcore.selection.comparing",
    "list_samples": "octcore.data.samples",
    "load_model": "octcore.models.file",
    "load_sample": "octcore.data.samples",
    "near_optimal": "octcore.selection.near_optimal",
    "penalty_path": "octcore.selection.penalty_path",
    "read_csv": "octcore.data.reading",
    "select_rows": "octcore.selection.data_selection",
    "solve": "octcore.solving.solve",
    "solve_one_vs_rest": "octcore.selection.one_vs_rest",
    "solve_selected": "octcore.selection.selected_training",
    "tune": "octcore.selection.tuning",
    "verify": "octcore.verification",
}

__all__ = [
    "ASK",
    "AcceleratedBendOCTClassifier",
    "BendOCTClassifier",
    "BinOCTClassifier",
    "BinarizationPath",
    "CARTClassifier",
    "DataError",
    "FlowOCTClassifier",
    "HFSMargotClassifier",
    "MMSVMOCTClassifier",
    "MargotClassifier",
    "ModelFileError",
    "NearOptimalTrees",
    "OCTBinaryClassifier",
    "OCTClassifier",
    "OCTHClassifier",
    "OctError",
    "OptimalTreeClassifier",
    "PathColumnsClassifier",
    "PathSearchClassifier",
    "QuantileBuckets",
    "QuantileThresholds",
    "Run",
    "SFSMargotClassifier",
    "SOCTClassifier",
    "SVM1ODTClassifier",
    "SettingsError",
    "Split",
    "ThresholdSearchClassifier",
    "TooLargeError",
    "Tree",
    "binarization_path",
    "class_versus_rest",
    "compare",
    "formulations",
    "list_samples",
    "load_model",
    "load_sample",
    "near_optimal",
    "penalty_path",
    "read_csv",
    "select_rows",
    "solve",
    "solve_one_vs_rest",
    "solve_selected",
    "tune",
    "verify",
]


def __getattr__(name: str) -> Any:
    if name.endswith("Classifier") and name not in _HOME:
        # One class for every formulation, such as FlowOCTClassifier, made by the estimators.
        return getattr(importlib.import_module("octcore.estimator.named"), name)
    if name == "formulations":
        return importlib.import_module("octcore.formulations")  # a package that can be called
    if name not in _HOME:
        raise AttributeError(f"module 'octcore' has no attribute {name!r}")
    value = getattr(importlib.import_module(_HOME[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
