"""Data and settings as a Python script and as a command line, ready to copy.

Both make the run that the settings describe: what the command line accepts and what the form
offers come from the same declarations (`octcore.solving.settings`, `octcore.tree.constraints`
and the formulation's own).
"""

import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any

from octcore.data.samples import sample_info
from octcore.data.serial import Record
from octcore.solving.settings import GENERAL, ONE_VS_REST, ROWS, Asked
from octcore.tree.constraints import side_constraint


@dataclass(frozen=True)
class DataChoice(Record):
    """Which table is read and how its columns are meant."""

    sample: str = ""  # name of a sample, empty for a file
    file_name: str = ""
    target: str | None = None
    drop: tuple[str, ...] = ()
    kinds: Mapping[str, str] = field(default_factory=dict)
    missing: str = "drop-rows"
    positive_class: Any = None
    merge: tuple[str, ...] = ()
    target_bins: int | None = None
    na_values: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    header: int | None = None
    first_row: int | None = None  # `target` and what follows it: as in `octcore.read_csv`

    @property
    def of_columns(self) -> dict[str, Any]:
        """How the columns are meant, as keywords of `octcore.data.reading.make_dataset`."""
        names = (part.name for part in fields(self))
        apart = {"sample", "file_name", "header", "first_row"}
        return {name: getattr(self, name) for name in names if name not in apart}


def python_recipe(choice: DataChoice, settings: Mapping[str, Any]) -> str:
    """Write the Python script that makes the same run.

    `settings` are keywords of `octcore.solve`, and those of `ROWS`; the same below.
    """
    general = {name: value for name, value in settings.items() if name not in _ROWS}
    rows = {name: settings[name] for name in _ROWS if settings.get(name) is not None}
    imports, lines = ["import octcore"], [f"data = {_read_call(choice)}"]
    if lines[0].startswith("data = octcore.read_csv(sample_bytes("):
        imports.append("from octcore.data.samples import sample_bytes")
    result = "run.status, run.objective, run.bound, run.certificate.badge"
    call = _call("run = octcore.solve", general)
    if rows.get("classes") == ONE_VS_REST:
        imports.append("from octcore.selection.one_vs_rest import solve_one_vs_rest")
        call = _call("model = solve_one_vs_rest", general)
        result = "model.summary, model.accuracy, model.test_accuracy"
    elif "classes" in rows:
        imports.append("from octcore.data.dataset import class_versus_rest")
        lines.append(f"data = class_versus_rest(data, {rows['classes']!r})")
    if "select_rows" in rows:
        imports.append("from octcore.selection.selected_training import solve_selected")
        asked = {"rule": rows["select_rows"], "rounds": rows.get("select_rounds", 1)}
        call = _call("found = solve_selected", general | asked)
        call += "run = found.run\nprint(found.summary)\n"
    return "\n".join(imports) + "\n\n" + "\n".join(lines) + f"\n{call}print({result})\n"


_ROWS = tuple(parameter.name for parameter in ROWS)


def _call(function: str, arguments: Mapping[str, Any]) -> str:
    words = "".join(f",\n    {name}={value!r}" for name, value in arguments.items())
    return f"{function}(\n    data{words},\n)\n"


def _unusual(choice: DataChoice) -> dict[str, Any]:
    """What is not as usual in how columns are meant, by the names of `octcore.read_csv`."""
    given, usual = vars(choice).items(), vars(DataChoice())
    apart = {"sample", "file_name", "target"}
    return {name: value for name, value in given if name not in apart and value != usual[name]}


def _read_call(choice: DataChoice) -> str:
    unusual, source = _unusual(choice), repr(choice.file_name or "data.csv")
    if choice.sample:
        info = sample_info(choice.sample)
        kinds = dict(choice.kinds) == dict(info.kinds)
        if kinds and choice.target == info.target and set(unusual) <= {"kinds"}:
            return f"octcore.load_sample({choice.sample!r})"
        source = f"sample_bytes({choice.sample!r}), name={choice.sample!r}"
    parts = [source, f"target={choice.target!r}"]
    for name, value in unusual.items():
        plain = list(value) if isinstance(value, tuple) else value
        parts.append(f"{name}={dict(value) if isinstance(value, Mapping) else plain!r}")
    return f"octcore.read_csv({', '.join(parts)})"


def command_line(choice: DataChoice, settings: Mapping[str, Any]) -> str:
    """Write the shell command that makes the same run."""
    lines = []
    name = choice.file_name or "data.csv"
    if choice.sample:
        name = f"{choice.sample}.csv"
        lines.append(shlex.join(["octcore", "samples", choice.sample, "--output", name]))
    words = ["octcore", "solve", name, "--target", str(choice.target)]
    for option, value in _unusual(choice).items():
        if isinstance(value, Mapping):
            pairs = [(column, each) for column, meant in value.items() for each in _each(meant)]
            value = tuple(f"{column}={each}" for column, each in pairs)
            option = option.removesuffix("s")
        for each in _each(value):
            words += [f"--{option.replace('_', '-')}", str(each)]
    lines.append(_folded(words + setting_words(settings)))
    return "\n".join(lines) + "\n"


def _each(value: Any) -> tuple[Any, ...]:
    return value if isinstance(value, tuple) else (value,)


def setting_words(settings: Mapping[str, Any]) -> list[str]:
    """Options of ``octcore solve`` for settings; None is what an option that is not given means."""
    words: list[str] = []
    for parameter in (*GENERAL, *ROWS):
        value = settings.get(parameter.name)
        if value is not None:
            words += [parameter.option, parameter.to_text(value)]
    asked = Asked.of(settings)
    for name, value in asked.params.items():
        words += ["--param", f"{name}={asked.info.parameter(name).to_text(value)}"]
    for name, value in asked.constraints.items():
        words += ["--constraint", f"{name}={side_constraint(name).to_text(value)}"]
    return words


def _folded(words: list[str]) -> str:
    """Break a long command before its options."""
    lines: list[list[str]] = [[]]
    for word in words:
        if word.startswith("--") and sum(map(len, lines[-1])) > 50:
            lines.append([])
        lines[-1].append(word)
    return " \\\n  ".join(shlex.join(line) for line in lines)
