"""Programs that count near-optimal trees, ours beside other people's; each in a child process."""

from __future__ import annotations

import importlib
import importlib.util
import math
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from multiprocessing.connection import Connection
from typing import Any

import numpy as np
import pandas as pd

from octcore.bench.suite import Instance, Line
from tests.bench.rivals.child import ask_child, isolate

MEGABYTE = 2.0**20


@dataclass(frozen=True)
class Count:
    """What a program says."""

    trees: int
    seconds: float
    cpu_seconds: float
    """`seconds`, `cpu_seconds`: wall clock and processor, without import and compilation."""
    optimum: float | None = None
    note: str = ""
    """What is different about its question."""


@dataclass(frozen=True)
class CountQuestion:
    """Trees whose accuracy minus `leaf_penalty` x leaves is within `tolerance` of the best."""

    X: np.ndarray
    y: np.ndarray
    """`X`, `y`: 0/1 columns of shape ``(n, p)``; class indices of shape ``(n,)``."""
    depth: int
    """Largest number of splits on a path."""
    leaf_penalty: float
    tolerance: float
    """`leaf_penalty`, `tolerance`: in accuracy."""
    limit: float
    """Seconds."""


def _timed(call: Callable[[], Any]) -> tuple[Any, float, float]:
    wall, cpu = time.perf_counter(), time.process_time()
    value = call()
    return value, time.perf_counter() - wall, time.process_time() - cpu


def ours(question: CountQuestion) -> Count:
    """Count with `octcore.near_optimal`; kernels are compiled before the clock starts."""
    from octcore.data.dataset import Dataset
    from octcore.numerics import kernels
    from octcore.search.near_optimal.warm_up import ALL
    from octcore.selection.near_optimal import near_optimal

    kernels.require(*ALL)
    data = Dataset.from_arrays(pd.DataFrame(question.X).add_prefix("c"), question.y.tolist())

    def call() -> tuple[int, float]:
        found = near_optimal(
            data,
            "none",
            depth=question.depth,
            params={"leaf_penalty": question.leaf_penalty},
            tolerance=question.tolerance,
            time_limit=question.limit,
        )
        return found.count, found.optimum

    (count, optimum), wall, cpu = _timed(call)
    return Count(count, wall, cpu, optimum)


def treefarms(question: CountQuestion) -> Count:
    """Count with TreeFARMS, told to keep splits whose leaves predict alike."""
    from treefarms import TREEFARMS  # pyright: ignore[reportMissingImports]

    frame = pd.DataFrame(question.X).add_prefix("c")
    model = TREEFARMS(
        {
            "regularization": question.leaf_penalty,
            "rashomon_bound_adder": question.tolerance,
            "rashomon_ignore_trivial_extensions": False,
            "depth_budget": question.depth + 1,
            "time_limit": int(np.ceil(question.limit)),
        }
    )
    _, wall, cpu = _timed(lambda: model.fit(frame, pd.Series(question.y, name="class")))
    return Count(int(model.get_tree_count()), wall, cpu, note="single-precision costs")


def praxis(question: CountQuestion) -> Count:
    """Count with PRAXIS at full lookahead; it is handed the optimum, and counts whole rows."""
    from praxis import PRAXIS  # pyright: ignore[reportMissingImports]

    def fit(**budget: float) -> Any:
        model = PRAXIS()
        model.fit(
            question.X,
            question.y,
            lambda_reg=question.leaf_penalty,
            depth_budget=question.depth,
            lookahead_k=question.depth,
            majority_leaf_only=True,
            **budget,
        )
        return model

    n = len(question.y)
    least = int(fit(rashomon_mult=0.0).get_min_objective())
    budget = least + int(question.tolerance * n + 1e-6)
    trees, wall, cpu = _timed(lambda: int(fit(root_budget=budget).count_trees()))
    return Count(trees, wall, cpu, 1 - least / n)


@dataclass(frozen=True)
class Counter:
    """A program that may be installed: its name in words, module, how to get it, and the call."""

    title: str
    module: str
    install: str
    call: Callable[[CountQuestion], Count]


COUNTERS = {
    "near-optimal": Counter("octcore", "octcore", "", ours),
    "treefarms": Counter("TreeFARMS", "treefarms", "pip install treefarms==0.2.4", treefarms),
    "praxis": Counter("PRAXIS", "praxis", "pip install tree-praxis==0.0.30", praxis),
}
"""Programs that the suite `near-optimal` can call, by key."""


def run_counter(instance: Instance, blank: Line, limit: float) -> Line:
    """Count in a child process and fill the line."""
    counter = COUNTERS[instance.formulation]
    if importlib.util.find_spec(counter.module) is None:
        return replace(
            blank, status="missing", note=f"{counter.title} is not installed; {counter.install}."
        )
    data, params = instance.load(), instance.settings["params"]
    n = len(data.codes)
    # In whole rows, as one of the programs counts, so that all have the same question; the quarter
    # keeps what is exactly on the border from rounding.
    price = max(1, round(float(params["leaf_penalty"]) * n)) / n
    tolerance = (math.floor(float(params["tolerance"]) * n) + 0.25) / n
    X = data.frame.to_numpy(dtype=np.uint8)
    question = CountQuestion(X, data.codes, instance.depth, price, tolerance, limit)
    reply = ask_child(_call, (instance.formulation, question), limit)
    blank = replace(blank, method="count", seconds=round(reply.seconds, 4))
    if isinstance(reply.answer, str):
        return replace(blank, status="no_solution", note=reply.answer)
    count, peak = reply.answer
    notes = [f"peak {peak / MEGABYTE:.0f} MB", count.note]
    return replace(
        blank,
        status="optimal" if instance.formulation == "near-optimal" else "feasible",
        objective=count.optimum,
        bound=count.optimum if instance.formulation == "near-optimal" else None,
        seconds=round(count.seconds, 4),
        solve_seconds=round(count.seconds, 4),
        trees=count.trees,
        cpu_seconds=round(count.cpu_seconds, 4),
        note="; ".join(note for note in notes if note),
    )


def _call(channel: Connection, key: str, question: CountQuestion) -> None:
    isolate()
    try:
        importlib.import_module(COUNTERS[key].module)
        channel.send("ready")
        count = COUNTERS[key].call(question)
        channel.send(((count, _peak_bytes()), count.seconds))
    except Exception as error:  # a foreign program may raise anything
        message = " ".join(str(error).split())
        channel.send((f"{type(error).__name__}: {message}", 0.0))


def _peak_bytes() -> float:
    """Largest memory of this process so far, imports included."""
    import resource

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024.0
