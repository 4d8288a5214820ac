"""The current settings as a Python script and as a command line, ready to copy."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping
from typing import Any

from dashboard.session import DataChoice
from octcore.data.samples import sample_info


def python_recipe(choice: DataChoice, settings: Mapping[str, Any]) -> str:
    """Write the Python script that makes the same run.

    Parameters
    ----------
    choice : DataChoice
        The data and how its columns are meant.
    settings : mapping
        Keywords of `octcore.solve`.
    """
    arguments = "".join(f",\n    {name}={value!r}" for name, value in settings.items())
    return (
        "import octcore\n\n"
        f"data = {_read_call(choice)}\n"
        f"run = octcore.solve(\n    data{arguments},\n)\n"
        "print(run.status, run.objective, run.bound, run.certificate.badge)\n"
    )


def _is_plain_sample(choice: DataChoice) -> bool:
    if not choice.sample:
        return False
    info = sample_info(choice.sample)
    kinds = dict(choice.kinds) == dict(info.kinds)
    untouched = not choice.drop and choice.missing == "drop-rows" and choice.positive_class is None
    return kinds and untouched and choice.target == info.target


def _read_call(choice: DataChoice) -> str:
    if _is_plain_sample(choice):
        return f"octcore.load_sample({choice.sample!r})"
    name = f"{choice.sample}.csv" if choice.sample else choice.file_name or "data.csv"
    parts = [repr(name), f"target={choice.target!r}"]
    if choice.drop:
        parts.append(f"drop={list(choice.drop)!r}")
    if choice.kinds:
        parts.append(f"kinds={dict(choice.kinds)!r}")
    if choice.missing != "drop-rows":
        parts.append(f"missing={choice.missing!r}")
    if choice.positive_class is not None:
        parts.append(f"positive_class={choice.positive_class!r}")
    return f"octcore.read_csv({', '.join(parts)})"


def command_line(choice: DataChoice, settings: Mapping[str, Any]) -> str:
    """Write the shell command that makes the same run.

    Parameters
    ----------
    choice : DataChoice
        The data and how its columns are meant.
    settings : mapping
        Keywords of `octcore.solve`.
    """
    lines = []
    name = choice.file_name or "data.csv"
    if choice.sample:
        name = f"{choice.sample}.csv"
        lines.append(shlex.join(["octcore", "samples", choice.sample, "--output", name]))
    words = ["octcore", "solve", name, "--target", str(choice.target)]
    for column in choice.drop:
        words += ["--drop", column]
    for column, kind in choice.kinds.items():
        words += ["--kind", f"{column}={kind}"]
    if choice.missing != "drop-rows":
        words += ["--missing", choice.missing]
    if choice.positive_class is not None:
        words += ["--positive-class", str(choice.positive_class)]
    for option, value in settings.items():
        words += _option_words(option, value)
    lines.append(_folded(words))
    return "\n".join(lines) + "\n"


def _option_words(option: str, value: Any) -> list[str]:
    if option in {"params", "constraints"}:
        flag = "--param" if option == "params" else "--constraint"
        found: list[str] = []
        for name, inner in value.items():
            found += [flag, f"{name}={_inner_text(inner)}"]
        return found
    return [f"--{option.replace('_', '-')}", _inner_text(value)]


def _inner_text(value: Any) -> str:
    if isinstance(value, str):
        return value
    return json.dumps(value, default=str)


def _folded(words: list[str]) -> str:
    """Break a long command before its options."""
    lines: list[list[str]] = [[]]
    for word in words:
        if word.startswith("--") and sum(map(len, lines[-1])) > 50:
            lines.append([])
        lines[-1].append(word)
    return " \\\n  ".join(shlex.join(line) for line in lines)
