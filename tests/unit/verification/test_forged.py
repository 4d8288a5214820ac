"""Every field that a run states is derived or compared: forged ones are never confirmed."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import octcore
from octcore.data.dataset import Dataset
from octcore.errors import OctError
from octcore.solving.finish import read_back
from octcore.solving.run import Run
from octcore.solving.verified import verified_record
from octcore.verification.known import KNOWN
from tests.stages import later

KEYS = [info.key for info in octcore.formulations()]
FIRST = ("path-search", "margot")
"""One of two kinds of proof; the others are slow."""
STAGED = [*FIRST, *later(*(key for key in KEYS if key not in FIRST))]
CONFIRMED = {
    "path-search", "threshold-search", "path-columns", "flow-oct", "bend-oct",
    "accelerated-bend-oct", "oct-binary", "oct", "bin-oct", "s-oct", "margot", "hfs-margot",
    "sfs-margot", "oct-h", "svm1-odt",
}  # fmt: skip
"""Formulations of which the real run is confirmed."""
SETTINGS: dict[str, dict[str, Any]] = {
    "margot": {"params": {"C_upper": 1.0, "C_last": 10.0}},
    "hfs-margot": {"params": {"C_upper": 10.0, "C_last": 100.0, "budget_last": 1}},
    "sfs-margot": {"params": {"C_upper": 10.0, "C_last": 100.0, "alpha": 0.1}},
    "s-oct": {"params": {"start_seconds": 0.2}},
    "oct-h": {"depth": 1, "params": {"start_seconds": 0.2}},
    "svm1-odt": {"depth": 1, "params": {"start_seconds": 0.2}},
    "mm-svm-oct": {"depth": 1, "params": {"start_seconds": 0.2}},
}
NO_CLAIMS = (
    "timings", "model_size", "versions", "findings", "encoding.notes",  # how the solve went
    "values.nodes", "values.linear_programs", "values.cuts_by_family", "values.cuts_purged",
    "values.columns",
    "settings.time_limit", "settings.gap", "settings.node_limit", "settings.threads",
    "settings.warm_start", "settings.data.name",  # how it was asked for
    "certificate.badge", "certificate.verified", "certificate.verification",  # made anew
    "format", "version", "tree.format", "tree.version",
    "settings.depth",  # what is claimed is derived for the depth that is asked for
    "values.root_values_exact",  # that a value is only a bound claims less
    "values.chains",  # other multipliers prove the same or less
    "root_bound",  # so does a bound that is farther away
    "encoding.columns.other",  # a word of a label
)  # fmt: skip
"""What nothing follows from about tree and optimum, or what only claims less."""


@cache
def solved(key: str) -> tuple[Run, Dataset]:
    """A small run with rows held out, and all its rows."""
    rng = np.random.default_rng(5)
    X = np.column_stack([rng.integers(0, 4, 24), rng.random(24).round(2)])
    y = (X[:, 0] > 1) ^ (rng.random(24) < 0.2)
    data = Dataset.from_arrays(X, y.astype(int))
    asked = {"depth": 2, "time_limit": 20.0, "test_size": 0.25, **SETTINGS.get(key, {})}
    return octcore.solve(data, key, **asked, verify=False), data


def leaves(record: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Paths of all plain values; of lists the first and the last item."""
    if isinstance(record, dict):
        for name, value in record.items():
            yield from leaves(value, (*path, name))
    elif isinstance(record, list):
        for number in sorted({0, len(record) - 1} if record else ()):
            yield from leaves(record[number], (*path, number))
    else:
        yield path


def forged_values(value: Any) -> list[Any]:
    """Other values of the same kind."""
    if isinstance(value, bool):
        return [not value]
    if isinstance(value, int):
        return [value + 1]
    if isinstance(value, float):
        return [value + 0.05, value * 0.5, value + 3.0]
    if isinstance(value, str):
        return [f"{value} as forged"]
    return [0.5]


def with_value(record: Any, path: tuple[Any, ...], value: Any) -> Any:
    changed = copy.deepcopy(record)
    at = changed
    for step in path[:-1]:
        at = at[step]
    at[path[-1]] = value
    return changed


def named(path: tuple[Any, ...]) -> str:
    return ".".join(str(step) for step in path if not isinstance(step, int))


def is_claim(key: str, path: tuple[Any, ...]) -> bool:
    """Whether a field claims something that a forged one would claim falsely."""
    name = named(path)
    if name.startswith("settings.params.") and path[-1] in KNOWN[key].switches:
        return False
    if name.startswith("settings.params.budget") and solved(key)[0].params[path[-1]] > 1:
        return False  # there are two columns, so that more are the same
    exact = solved(key)[0].extras.get("root_values_exact")
    if name == "values.root_values" and exact is not None and not exact[int(path[-1])]:
        return False
    return not any(name == part or name.startswith(f"{part}.") for part in NO_CLAIMS)


def routes_alike(forged: Run, run: Run) -> bool:
    """Whether two trees part the same rows everywhere, by their thresholds and planes."""
    if forged.tree is None or run.tree is None or forged.encoding != run.encoding:
        return False
    for data in (run.train, run.test):
        assert data is not None
        X = run.encoding.transform(data.frame)
        for tree in (forged.tree, run.tree):
            solved_planes = {
                m: replace(s, threshold=-s.solved_offset) for m, s in tree.splits.items()
            }
            for other in (tree, replace(tree, splits=solved_planes)):
                if set(other.labels) != set(run.tree.labels):
                    return False
                if (other.apply(X) != run.tree.apply(X)).any():
                    return False
    return forged.tree.labels == run.tree.labels and key_parts(forged) == key_parts(run)


def has_same_optimum(key: str, path: tuple[Any, ...], value: Any) -> bool:
    """Whether the optimum is the same with another hyperparameter: then nothing false is said."""
    if path[:2] != ("settings", "params"):
        return False
    run, data = solved(key)
    asked = {"depth": run.depth, "time_limit": 20.0, "test_size": 0.25, "verify": False}
    other = octcore.solve(data, key, params={**run.params, path[-1]: value}, **asked)
    return other.status == "optimal" and other.objective == pytest.approx(run.objective, rel=1e-9)


def key_parts(run: Run) -> Any:
    """What a run states beside the numbers of its tree."""
    record = run.to_dict()
    record["tree"] = {k: v for k, v in record["tree"].items() if k != "nodes"}
    return record


@pytest.mark.parametrize("key", STAGED)
def test_the_real_run_is_not_refuted(key: str) -> None:
    run, _ = solved(key)
    found = run.verify()
    assert (found.status == "confirmed") == (key in CONFIRMED), found.statement
    assert found.verified is not False


@pytest.fixture
def _cases(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep refuted cases out of the user's folder."""
    monkeypatch.setenv("OCTCORE_STORE", str(tmp_path / "runs.db"))


@pytest.mark.long
@pytest.mark.sampled(2)
@pytest.mark.usefixtures("_cases")
@pytest.mark.parametrize("key", STAGED)
def test_a_forged_field_is_never_confirmed(key: str) -> None:
    run, data = solved(key)
    record = run.to_dict()
    tried, believed = 0, []
    for path in leaves(record):
        old = record
        for step in path:
            old = old[step]
        if not is_claim(key, path):
            continue
        for value in forged_values(old):
            if value == old:
                continue
            tried += 1
            changed = with_value(record, path, value)
            try:
                forged = read_back(changed, data, run.trace.events)
            except (OctError, KeyError, TypeError, ValueError, AttributeError):
                continue  # it cannot even be read
            found = verified_record(forged, changed).certificate.verified
            if not found or (path[0] == "tree" and routes_alike(forged, run)):
                continue
            if not has_same_optimum(key, path, value):
                believed.append((named(path), old, value))
    assert tried > 60
    assert not believed, "\n".join(map(str, believed))
