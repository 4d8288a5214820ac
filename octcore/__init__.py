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

_NAMES = {
    "data.dataset": "class_versus_rest",
    "data.reading": "read_csv",
    "data.samples": "list_samples load_sample",
    "data.tasks": "ASK",
    "encoding.transformers": "QuantileBuckets QuantileThresholds",
    "errors": "DataError ModelFileError OctError SettingsError TooLargeError",
    "estimator.classifier": "OptimalTreeClassifier",
    "selection.binarization": "BinarizationPath binarization_path",
    "selection.fits": "compare",
    "selection.near_optimal": "NearOptimalTrees near_optimal",
    "selection.one_vs_rest": "solve_one_vs_rest",
    "selection.penalty_path": "penalty_path",
    "selection.selected_training": "select_rows solve_selected",
    "selection.tuning": "tune",
    "solving.run": "Run",
    "solving.solve": "solve",
    "store.models": "load_model",
    "tree.tree": "Split Tree",
    "verification": "verify",
}
_HOME = {name: f"octcore.{home}" for home, names in _NAMES.items() for name in names.split()}
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
