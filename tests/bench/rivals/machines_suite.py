"""The suite ``svm1-odt`` with support vector machines of scikit-learn in its study ``tuned``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, LinearSVC

from octcore.bench.runner import cpu_seconds
from octcore.bench.suite import Instance, Line, Published
from octcore.bench.suites import svm1_odt
from octcore.selection.protocols import folds

SLACK = (0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0)
MACHINES: Mapping[str, tuple[Any, Mapping[str, Sequence[Any]]]] = {
    "linear-svm": (LinearSVC(max_iter=3000), {"C": SLACK}),
    "linear-svm-pairs": (SVC(kernel="linear"), {"C": SLACK[:-1]}),
    "gaussian-svm": (SVC(), {"C": SLACK[2:], "gamma": ("scale", 0.003, 0.01, 0.03, 0.1, 0.3)}),
}
"""Machines on standardised columns, one class against the others or pairs of classes, and their
candidates."""


def instances(folder: Path, study: str, formulations: tuple[str, ...]) -> list[Instance]:
    """Those of the suite; in the study ``tuned`` machines beside every tree of the first key."""
    keys = tuple(key for key in formulations if key not in MACHINES)
    found = svm1_odt.instances(folder, study, keys or svm1_odt.OWN)
    if study != "tuned":
        return found
    wanted = [key for key in MACHINES if key in formulations or formulations == svm1_odt.OWN]
    first = found[0].formulation
    beside = [
        replace(one, formulation=key, grid=(), choice="accuracy", published=Published())
        for one in found
        if one.formulation == first
        for key in wanted
    ]
    return [*(found if keys else ()), *beside]


def tuned_machine(instance: Instance, line: Line, limit: float) -> Line:
    """Choose by the same folds as the trees, and judge on the test rows; no limit is needed."""
    del limit
    assert instance.rows is not None
    data, (train, _, test) = instance.load(), map(list, instance.rows)
    X, y, before = data.frame.to_numpy(float), data.codes, cpu_seconds()
    machine, grid = MACHINES[instance.formulation]
    step = type(machine).__name__.lower()
    model = make_pipeline(StandardScaler(), machine)
    named = {f"{step}__{name}": values for name, values in grid.items()}
    pairs = folds(y, np.array(train), instance.folds, 0)
    best = GridSearchCV(model, named, cv=pairs, refit=False).fit(X, y).best_params_
    model.set_params(**best).fit(X[train], y[train])
    words = " ".join(f"{name.split('__')[1]}={value}" for name, value in best.items())
    return replace(
        line,
        status="feasible",
        accuracy=model.score(X[train], y[train]),
        test_accuracy=model.score(X[test], y[test]),
        cpu_seconds=round(cpu_seconds() - before, 3),
        note=f"chosen: {words}",
    )


SUITE = replace(
    svm1_odt.SUITE, instances=instances, programs=dict.fromkeys(MACHINES, tuned_machine)
)
