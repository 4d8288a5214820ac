"""`octcore formulations`, `octcore describe` and `octcore samples`."""

import argparse
import json
import sys
from collections.abc import Iterable, Iterator
from typing import Any

from octcore.cli.output import STANDARD_OUTPUT, Written, write_text
from octcore.data.samples import list_samples, sample_bytes, sample_info
from octcore.data.serial import jsonable
from octcore.docs.generated import facts, formulation_page
from octcore.formulations.base import FormulationInfo, get_formulation, list_formulations
from octcore.parameters import Parameter
from octcore.solving.recipe import DataChoice, command_line
from octcore.tree.constraints import ACCEPTED


def add_commands(commands: Any) -> None:
    """Add the three commands."""
    listing = commands.add("formulations", run_formulations)
    listing.add_argument("--json", action="store_true", help="print everything as JSON")
    describe = commands.add("describe", run_describe)
    describe.add_argument("key", metavar="KEY")
    describe.add_argument("--markdown", action="store_true", help="print its page as Markdown")
    samples = commands.add("samples", run_samples)
    samples.add_argument("name", metavar="NAME", nargs="?")
    words = "default: standard output"
    samples.add_argument("--output", metavar="FILE.csv", type=Written, default="-", help=words)


def run_formulations(arguments: argparse.Namespace) -> None:
    """List the formulations."""
    infos = list_formulations()
    if arguments.json:
        print(json.dumps(jsonable(infos), indent=2))
        return
    width = max(len(info.key) for info in infos)
    for info in infos:
        print(f"{info.key:<{width}}  {info.split_kind:<10}  {info.title}")


def run_describe(arguments: argparse.Namespace) -> None:
    """Describe one formulation, all from its declaration."""
    info = get_formulation(arguments.key).info
    print(formulation_page(info) if arguments.markdown else describe(info))


def describe(info: FormulationInfo) -> str:
    """Write the declaration of a formulation as text."""
    told = {"reference": str(info.reference), **facts(info)}
    lines = [f"{info.title} ({info.key})", info.summary, ""]
    lines += [f"{name + ':':<18}{text.replace('`', '')}" for name, text in told.items()]
    lines += ["", "settings:" if info.hyperparameters else "settings:         none"]
    lines += _settings(info.hyperparameters)
    able = [parameter for parameter in ACCEPTED if parameter.name in info.constraints]
    if able:
        lines += ["", "side constraints, as --constraint NAME=VALUE:", *_settings(able)]
    if info.good_at:
        lines += ["", info.good_at]
    return "\n".join(lines)


def _settings(declared: Iterable[Parameter]) -> Iterator[str]:
    for p in declared:
        symbol = f" [{p.symbol}]" if p.symbol else ""
        default = "" if p.default is None else f", default {p.default}"
        yield f"  {p.name}{symbol}: {p.describe_range()}{default}"
        if p.help:
            yield f"      {p.help}"


def run_samples(arguments: argparse.Namespace) -> None:
    """List the samples, or write the named one and say how its columns are meant."""
    if arguments.name is None:
        infos = list_samples()
        width = max(len(info.name) for info in infos)
        for info in infos:
            print(f"{info.name:<{width}}  {info.rows:>5} rows  {info.title}")
        return
    write_text(arguments.output, sample_bytes(arguments.name).decode("utf-8"))
    if arguments.output != STANDARD_OUTPUT:
        info = sample_info(arguments.name)
        choice = DataChoice(file_name=arguments.output, target=info.target, kinds=info.kinds)
        print(f"solve it with\n{command_line(choice, {})}", end="", file=sys.stderr)
