"""`octcore solve` with selected rows, or with one tree per class against the rest."""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from octcore.cli.options import add_declared, given
from octcore.cli.output import write_text
from octcore.cli.progress import ProgressLine
from octcore.data.dataset import Dataset
from octcore.errors import SettingsError
from octcore.parameters import check_all
from octcore.selection.one_vs_rest import OneVsRest, solve_one_vs_rest
from octcore.solving.report import run_report
from octcore.solving.run import Run
from octcore.solving.settings import ONE_VS_REST, ROWS, check_settings
from octcore.worker import solve_in_child

if TYPE_CHECKING:
    from octcore.selection.selected_training import SelectedRun

FOR_ONE_TREE = ("trace", "model", "tree")
"""Outputs that describe one tree."""


def add_several_options(parser: argparse.ArgumentParser) -> None:
    """Add the options that train on a part of the rows, or on grouped classes."""
    add_declared(parser, ROWS)


def train_one_vs_rest(data: Dataset, settings: Mapping[str, Any]) -> OneVsRest:
    """One tree per class, each in a child process, sharing the time limit."""
    checked = check_settings(**settings)
    own = {k: v for k, v in settings.items() if k not in {"time_limit", "test_size", "seed"}}
    return solve_one_vs_rest(
        data,
        time_limit=checked.time_limit,
        test_size=checked.test_size,
        seed=checked.seed,
        solver=_in_child,
        **own,
    )


def report_one_vs_rest(arguments: argparse.Namespace, data: Dataset, model: OneVsRest) -> None:
    """Write and print every tree and what they reach together."""
    if arguments.json:
        write_text(arguments.json, json.dumps(model.to_dict(), allow_nan=False) + "\n")
    if arguments.json == "-":
        return
    for label, run in zip(model.classes, model.runs, strict=True):
        print(f"{data.target_name} = {label} against the rest\n{run_report(run)}\n")
    print(f"{model.summary}\ntogether right on {model.accuracy:.2%} of the training rows")
    if model.test_accuracy is not None:
        print(f"and on {model.test_accuracy:.2%} of the held-out rows")


def check_several(arguments: argparse.Namespace) -> dict[str, Any]:
    """Read which rows and classes are asked for; refuse options that do not go together."""
    rows = check_all(ROWS, given(arguments, ROWS), "octcore solve")
    refused = [f"--{name}" for name in FOR_ONE_TREE if getattr(arguments, name)]
    if rows["classes"] == ONE_VS_REST and rows["select_rows"]:
        refused.append("--select-rows")
    if rows["classes"] == ONE_VS_REST and refused:
        raise SettingsError(
            "NOT_ONE_TREE",
            f"--classes {ONE_VS_REST} trains one tree per class, which {' and '.join(refused)} "
            "cannot take; leave it out, or name one class with --classes CLASS.",
            "--classes",
        )
    return rows


def train_selected(
    data: Dataset, settings: Mapping[str, Any], rule: str, rounds: int
) -> SelectedRun:
    """Select in this process, solve in a child process."""
    # Not above: selecting needs a solver's library, which other commands do not wait for.
    from octcore.selection.selected_training import check_formulation, solve_selected

    checked = check_settings(**settings)
    check_formulation(checked.formulation)
    if checked.encoding != "scaled":
        raise SettingsError(
            "SELECTION_IS_SCALED",
            f"--select-rows works on columns scaled to [0, 1], not on encoding {checked.encoding}.",
            "encoding",
        )
    named = {"depth", "time_limit", "seed", "test_size", "formulation"}
    return solve_selected(
        data,
        depth=checked.depth,
        rule=rule,
        rounds=rounds,
        time_limit=checked.time_limit,
        seed=checked.seed,
        formulation=checked.formulation,
        test_size=checked.test_size,
        solver=_in_child,
        **{name: value for name, value in settings.items() if name not in named},
    )


def _in_child(
    data: Dataset,
    cancel: Any = None,
    on_event: Any = None,
    sample_weight: np.ndarray | None = None,
    **settings: Any,
) -> Run:
    """Train in a child process, as the command line always does; Ctrl-C stops there."""
    line = ProgressLine()
    try:
        return solve_in_child(data, settings, on_event, on_phase=line, sample_weight=sample_weight)
    finally:
        line.close()
