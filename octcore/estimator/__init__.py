"""Optimal trees as scikit-learn classifiers; a thin coat over `octcore.solve`.

`OptimalTreeClassifier` takes any formulation.  For every formulation there is also a class of its
own, such as `FlowOCTClassifier`, whose constructor lists the hyperparameters of the declaration.
"""

from __future__ import annotations

import importlib
from typing import Any

from octcore.estimator.classifier import OptimalTreeClassifier

__all__ = ["OptimalTreeClassifier"]


def __getattr__(name: str) -> Any:
    if name.endswith("Classifier"):
        return getattr(importlib.import_module("octcore.estimator.named"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
