"""Options that several commands share, and how their text becomes settings."""

import argparse
import sys
from collections.abc import Collection, Iterable, Sequence
from typing import Any, BinaryIO

from octcore.cli.output import ProgressLine, Read, Written
from octcore.data.assembly import MISSING_POLICIES
from octcore.data.dataset import Dataset
from octcore.data.distinct import grouped
from octcore.data.reading import read_csv
from octcore.data.serial import read_json
from octcore.data.tasks import COSTS, ORDINAL
from octcore.errors import SettingsError
from octcore.formulations.base import get_formulation
from octcore.parameters import Choice, IntRange, Key, Parameter
from octcore.solving.settings import FORMULATION, GENERAL
from octcore.tree.constraints import side_constraint


def add_data_options(parser: argparse.ArgumentParser) -> None:
    """Add the file and how to read it."""
    parser.add_argument("data", metavar="DATA.csv", type=Read, help="- for the standard input")
    parser.add_argument("--target", metavar="COL", required=True, help="column with the classes")
    add_reading_options(parser)


def add_reading_options(parser: argparse.ArgumentParser) -> None:
    """Add how the columns of a file are meant."""
    add_many(parser, "--drop", "COL", "leave a column out")
    add_many(parser, "--kind", "COL=KIND", "numeric, ordinal, categorical, binary or date")
    parser.add_argument("--missing", choices=MISSING_POLICIES, default="drop-rows")
    parser.add_argument("--positive-class", metavar="CLASS", default=None)
    add_many(parser, "--merge", "COL", "take values that differ only in capitals for one")
    words = "cut a target of numbers into 2 to 5 classes"
    parser.add_argument("--target-bins", metavar="N", type=int, default=None, help=words)
    add_many(parser, "--na-value", "COL=TEXT", "a text of a column that means it is missing")
    for option, what in (("--header", "names the columns"), ("--first-row", "is the first row")):
        words = f"line of the file that {what} (default: found)"
        parser.add_argument(option, metavar="LINE", type=int, default=None, help=words)


def add_declared(
    parser: argparse.ArgumentParser, declared: Iterable[Parameter], without: Collection[str] = ()
) -> None:
    """Add one option for every declared setting; its text is read by `given`."""
    for parameter in declared:
        if parameter.name in without:
            continue
        default = "" if parameter.default is None else f" (default {parameter.default})"
        words = (parameter.help + default).replace("%", "%%")
        kind = Read if parameter is COSTS else str
        parser.add_argument(parameter.option, metavar=_metavar(parameter), type=kind, help=words)


def _metavar(parameter: Parameter) -> str:
    if isinstance(parameter, Choice):
        return "|".join(parameter.options)
    if isinstance(parameter, Key):
        return "KEY"
    if parameter is COSTS:
        return "FILE.json"
    return "N" if isinstance(parameter, IntRange) else parameter.unit.upper() or "F"


def given(arguments: argparse.Namespace, declared: Iterable[Parameter]) -> dict[str, Any]:
    """Values of the options that were given, in the type of their settings."""
    texts = {p: getattr(arguments, p.name, None) for p in declared}
    return {
        p.name: p.check(read_json(text)) if p is COSTS and _is_file(text) else p.parse(text)
        for p, text in texts.items()
        if text is not None
    }


def _is_file(text: str) -> bool:
    """Whether costs are in a file: they are neither JSON nor a word."""
    return text[:1] not in ("{", "[") and text.lower() not in {ORDINAL, "none"}


def add_solve_options(parser: argparse.ArgumentParser, without: Collection[str] = ()) -> None:
    """Add the settings of a solve but some."""
    add_declared(parser, GENERAL, without)
    add_many(parser, "--param", "NAME=VALUE", "see octcore describe")
    add_constraint(parser)


def add_json(parser: argparse.ArgumentParser, what: str = "the result") -> None:
    """Add where a result is written in full."""
    parser.add_argument("--json", metavar="FILE|-", type=Written, help=f"write {what} as JSON")


def add_constraint(parser: argparse.ArgumentParser) -> None:
    """Add side constraints; `constraint_values` reads them."""
    add_many(parser, "--constraint", "NAME=VALUE", "VALUE as text or JSON")


def add_many(
    parser: argparse.ArgumentParser, option: str, metavar: str, words: str, dest: str | None = None
) -> None:
    """Add an option that may be given several times."""
    parser.add_argument(option, metavar=metavar, action="append", default=[], help=words, dest=dest)


def read_options(arguments: argparse.Namespace) -> dict[str, Any]:
    """How to read the file, as keyword arguments of `read_csv`."""
    as_given = ("target", "missing", "positive_class", "target_bins", "header", "first_row")
    gaps = grouped(_pair(text, "--na-value", "COL=TEXT") for text in arguments.na_value)
    return {name: getattr(arguments, name) for name in as_given} | {
        "drop": tuple(arguments.drop),
        "kinds": dict(_pair(text, "--kind", "COL=KIND") for text in arguments.kind) or None,
        "merge": tuple(arguments.merge),
        "na_values": gaps or None,
    }


def read_data(arguments: argparse.Namespace) -> Dataset:
    """Read the file of a command."""
    with ProgressLine(f"reading {arguments.data}"):
        return read_csv(source_of(arguments.data), **read_options(arguments))


def source_of(path: str) -> str | BinaryIO:
    """Where to read a table: a file, or the standard input for ``-``."""
    return sys.stdin.buffer if path == "-" else path


def solve_settings(arguments: argparse.Namespace, formulation: str | None = None) -> dict[str, Any]:
    """Settings of a solve that were given, as keyword arguments of `octcore.solve`.

    `formulation` is a key to take instead of the one of the options.
    """
    settings = {FORMULATION.name: FORMULATION.default} | given(arguments, GENERAL)
    if formulation is not None:
        settings[FORMULATION.name] = formulation
    info = get_formulation(str(settings[FORMULATION.name])).info
    params = [_pair(text, "--param", "NAME=VALUE") for text in arguments.param]
    settings["params"] = {name: info.parameter(name).parse(text) for name, text in params}
    return settings | {"constraints": constraint_values(arguments.constraint)}


def constraint_values(texts: Sequence[str]) -> dict[str, Any]:
    """Read side constraints from ``NAME=VALUE`` texts."""
    pairs = [_pair(text, "--constraint", "NAME=VALUE") for text in texts]
    return {name: side_constraint(name).parse(text) for name, text in pairs}


def _pair(text: str, option: str, form: str) -> tuple[str, str]:
    """Read a ``NAME=VALUE`` text of an option."""
    name, equals, value = text.partition("=")
    if not equals or not name:
        raise SettingsError("BAD_OPTION", f"{option} needs {form}, but {text!r} was given.", option)
    return name.strip(), value.strip()
