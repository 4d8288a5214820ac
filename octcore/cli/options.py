"""Options that several commands share, and how their text becomes settings."""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from typing import Any

from octcore.constraints import FAIRNESS
from octcore.data.dataset import Dataset
from octcore.data.reading import read_csv
from octcore.errors import SettingsError
from octcore.formulations.base import get_formulation

MISSING = ("drop-rows", "drop-columns", "category")


def add_data_options(parser: argparse.ArgumentParser) -> None:
    """Add the file and how to read it."""
    parser.add_argument("data", metavar="DATA.csv")
    parser.add_argument("--target", metavar="COL", required=True, help="column with the classes")
    parser.add_argument(
        "--drop", metavar="COL", action="append", default=[], help="leave a column out"
    )
    parser.add_argument(
        "--kind",
        metavar="COL=KIND",
        action="append",
        default=[],
        help="numeric, ordinal, categorical or binary",
    )
    parser.add_argument("--missing", choices=MISSING, default="drop-rows")
    parser.add_argument("--positive-class", metavar="CLASS", default=None)


def add_solve_options(parser: argparse.ArgumentParser, with_formulation: bool = True) -> None:
    """Add the settings of a solve."""
    if with_formulation:
        parser.add_argument("--formulation", metavar="KEY", default="flow-oct")
    parser.add_argument("--encoding", metavar="KEY", default="auto")
    parser.add_argument("--depth", metavar="N", default="2")
    parser.add_argument(
        "--param", metavar="NAME=VALUE", action="append", default=[], help="see octcore describe"
    )
    parser.add_argument(
        "--constraint",
        metavar="NAME=VALUE",
        action="append",
        default=[],
        help="VALUE as text or JSON",
    )
    parser.add_argument("--engine", metavar="KEY", default="auto")
    parser.add_argument("--time-limit", metavar="S", default="60")
    parser.add_argument("--gap", metavar="G", default="0")
    parser.add_argument("--threads", metavar="N", default="1")
    parser.add_argument("--seed", metavar="N", default="0")
    parser.add_argument("--test-size", metavar="F", default="0")


def read_options(arguments: argparse.Namespace) -> dict[str, Any]:
    """How to read the file, as keyword arguments of `read_csv`."""
    return {
        "target": arguments.target,
        "drop": tuple(arguments.drop),
        "kinds": dict(_pair(text, "--kind", "COL=KIND") for text in arguments.kind) or None,
        "missing": arguments.missing,
        "positive_class": arguments.positive_class,
    }


def read_data(arguments: argparse.Namespace) -> Dataset:
    """Read the file of a command."""
    return read_csv(arguments.data, **read_options(arguments))


def solve_settings(arguments: argparse.Namespace, formulation: str) -> dict[str, Any]:
    """Settings of a solve as keyword arguments of `octcore.solve`, still to be checked."""
    info = get_formulation(formulation).info
    params = {}
    for text in arguments.param:
        name, value = _pair(text, "--param", "NAME=VALUE")
        params[name] = info.parameter(name).parse(value)
    return {
        "formulation": formulation,
        "encoding": arguments.encoding,
        "depth": arguments.depth,
        "params": params,
        "constraints": constraint_values(arguments.constraint),
        "engine": arguments.engine,
        "time_limit": arguments.time_limit,
        "gap": arguments.gap,
        "threads": arguments.threads,
        "seed": arguments.seed,
        "test_size": arguments.test_size,
    }


def constraint_values(texts: Sequence[str]) -> dict[str, Any]:
    """Read side constraints from ``NAME=VALUE`` texts."""
    pairs = [_pair(text, "--constraint", "NAME=VALUE") for text in texts]
    return {name: constraint_value(name, value) for name, value in pairs}


def constraint_value(name: str, text: str) -> Any:
    """Read the value of a constraint: JSON, or the short forms.

    Short forms are ``a,b`` for lists, ``a:b,c:d`` for pairs and for numbers by class, and
    ``attribute:max_gap`` or ``attribute:max_gap:given`` for fairness limits.
    """
    if text[:1] in "[{":
        try:
            return json.loads(text)
        except ValueError as error:
            raise SettingsError(
                "NOT_JSON", f"The value of constraint {name} is not JSON: {error}.", name
            ) from error
    if name in FAIRNESS:
        parts = text.split(":")
        return dict(zip(("attribute", "max_gap", "given"), parts, strict=False))
    if name in {"class_weight", "min_recall"} and ":" in text:
        return dict(part.rsplit(":", 1) for part in text.split(","))
    return text


def _pair(text: str, option: str, form: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals or not name:
        raise SettingsError("BAD_OPTION", f"{option} needs {form}, but {text!r} was given.", option)
    return name.strip(), value.strip()
