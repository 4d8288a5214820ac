"""Optimal classification trees, trained to proven optimality on free solvers.

The public names are loaded on first use, so that ``import octcore`` costs next to nothing.
"""

from __future__ import annotations

import importlib
import inspect
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from octcore import plotting as plotting
    from octcore.data.dataset import class_versus_rest as class_versus_rest
    from octcore.data.reading import read_csv as read_csv
    from octcore.data.samples import list_samples as list_samples
    from octcore.data.samples import load_sample as load_sample
    from octcore.data.tasks import ASK as ASK
    from octcore.encoding.transformers import QuantileBuckets as QuantileBuckets
    from octcore.encoding.transformers import QuantileThresholds as QuantileThresholds
    from octcore.errors import DataError as DataError
    from octcore.errors import ModelFileError as ModelFileError
    from octcore.errors import OctError as OctError
    from octcore.errors import SettingsError as SettingsError
    from octcore.errors import TooLargeError as TooLargeError
    from octcore.estimator.classifier import OptimalTreeClassifier as OptimalTreeClassifier
    from octcore.estimator.named import *  # noqa: F403 - a class for every formulation
    from octcore.formulations.base import list_formulations
    from octcore.selection.binarization import BinarizationPath as BinarizationPath
    from octcore.selection.binarization import binarization_path as binarization_path
    from octcore.selection.fits import compare as compare
    from octcore.selection.near_optimal import NearOptimalTrees as NearOptimalTrees
    from octcore.selection.near_optimal import near_optimal as near_optimal
    from octcore.selection.one_vs_rest import solve_one_vs_rest as solve_one_vs_rest
    from octcore.selection.penalty_path import penalty_path as penalty_path
    from octcore.selection.selected_training import select_rows as select_rows
    from octcore.selection.selected_training import solve_selected as solve_selected
    from octcore.selection.tuning import tune as tune
    from octcore.solving.run import Run as Run
    from octcore.solving.solve import solve as solve
    from octcore.store.models import load_model as load_model
    from octcore.tree.tree import Split as Split
    from octcore.tree.tree import Tree as Tree
    from octcore.verification import verify as verify

    formulations = list_formulations

_HOME = {
    "ASK": "octcore.data.tasks",
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
    "class_versus_rest": "octcore.data.dataset",
    "compare": "octcore.selection.fits",
    "list_samples": "octcore.data.samples",
    "load_model": "octcore.store.models",
    "load_sample": "octcore.data.samples",
    "near_optimal": "octcore.selection.near_optimal",
    "penalty_path": "octcore.selection.penalty_path",
    "read_csv": "octcore.data.reading",
    "select_rows": "octcore.selection.selected_training",
    "solve": "octcore.solving.solve",
    "solve_one_vs_rest": "octcore.selection.one_vs_rest",
    "solve_selected": "octcore.selection.selected_training",
    "tune": "octcore.selection.tuning",
    "verify": "octcore.verification",
}
"""Where the public names are at home, but for the classes of the formulations."""


def __getattr__(name: str) -> Any:
    if name.endswith("Classifier") and name not in _HOME:
        # One class for every formulation, such as FlowOCTClassifier, made by the estimators.
        return getattr(importlib.import_module("octcore.estimator.named"), name)
    if name in ("formulations", "plotting"):
        return importlib.import_module(f"octcore.{name}")  # the first can be called, too
    if name == "__all__":
        return __dir__()
    if name not in _HOME:
        raise AttributeError(f"module 'octcore' has no attribute {name!r}")
    value = getattr(importlib.import_module(_HOME[name]), name)
    if inspect.isfunction(value):
        from octcore.parameters import at_the_door

        value = at_the_door(value)
        value.__module__ = __name__  # where other processes find what is pickled
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    from octcore.formulations.base import list_formulations

    return sorted([*_HOME, "formulations", *(info.class_name for info in list_formulations())])
