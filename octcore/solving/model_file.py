"""The mixed-integer model of a run as a file for other solvers, with its tree as the start."""

import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from octcore.data.serial import in_words, write_file
from octcore.engines.model_run import ends_without_a_log
from octcore.errors import SettingsError, TooLargeError
from octcore.formulations.base import get_formulation
from octcore.program import Capability, Program
from octcore.solving.prepare import problem_of
from octcore.tree.wording import format_number

if TYPE_CHECKING:
    from octcore.solving.run import Run

FORMATS = {".lp": "\\", ".mps": "*"}  # by suffix: how a comment begins
MOST_NONZEROS = 5_000_000  # effort only: some 30 characters of text each
WHOLE = {Capability.LINEAR, Capability.CONVEX_QUADRATIC}
"""Models that hold all their rows; rows of the others come from separators during a solve."""


def write_model(run: "Run", path: str | Path) -> tuple[Path, ...]:
    """Write the model of a run, named as in its paper, and its tree as a start beside it.

    `path`: ends in ``.lp`` or ``.mps``; the start gets ``.mst``: a name and a value per line.

    Returns the files that were written.  `SettingsError` for another suffix, a formulation without
    a complete model, or a place that cannot be written; `TooLargeError` if the model is larger than
    the limit; `ModelFileError` if the run comes without its training rows.
    """
    path = Path(path)
    if path.suffix not in FORMATS:
        message = f"A model file ends in .lp or .mps, not {path.name!r}."
        raise SettingsError("UNKNOWN_FORMAT", message, "path")
    files = model_files(run, (path.suffix,))
    written = {path.with_suffix(suffix): text for suffix, text in files.items()}
    with in_words(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        for place, text in written.items():
            write_file(place, text)
    return tuple(written)


def whole_program(run: "Run", most_nonzeros: int) -> Program:
    """Program of a run whose model can be written; see `write_model` for what is raised."""
    formulation = get_formulation(run.formulation)
    program = None
    if WHOLE & set(formulation.info.capabilities):
        program = formulation.build(problem_of(run))
    if program is None or not WHOLE & set(program.capabilities or formulation.info.capabilities):
        raise SettingsError(
            "NO_MODEL",
            f"{formulation.info.title} as it was run has no model that could be written whole: it "
            "is a search, or its rows come while it is solved. Solve with flow-oct or oct.",
            "formulation",
        )
    if program.size is not None and program.size.nonzeros > most_nonzeros:
        raise TooLargeError(
            "MODEL_TOO_LARGE",
            f"The model has about {program.size.nonzeros:,} entries, more than the "
            f"{most_nonzeros:,} allowed; take fewer rows, coarser columns or a smaller depth.",
            {"nonzeros": float(program.size.nonzeros)},
        )
    return program


def model_files(
    run: "Run", suffixes: Iterable[str] = FORMATS, most_nonzeros: int = MOST_NONZEROS
) -> dict[str, str]:
    """Texts of the model, by these suffixes, and of the start; see `write_model`."""
    program = whole_program(run, most_nonzeros)
    with ends_without_a_log():
        if program.big_m is not None:
            built = program.big_m.build(lambda: None, program.big_m.choose(run.objective))
        else:
            assert program.build is not None
            built = program.build(lambda: None)
    texts: dict[str, str] = {}
    names: Mapping[int, str] = {}
    with tempfile.TemporaryDirectory() as folder:
        for suffix in suffixes:
            file = Path(folder) / f"model{suffix}"
            _, number = built.model.write(str(file), io_options={"symbolic_solver_labels": True})
            texts[suffix] = file.read_text(encoding="utf-8")
            names = built.model.solutions.symbol_map[number].byObject
    shift = f" + {program.shift:.17g}" if program.shift else ""
    known = ("-" if v is None else format_number(v, 12) for v in (run.objective, run.bound))
    head = [
        f"{get_formulation(run.formulation).info.title}, depth {run.depth}, "
        f"{run.n_train} rows; objective of the paper = {program.scale:.17g} * (objective){shift}",
        "octcore: {}, objective {}, bound {}".format(run.badge, *known),
    ]
    start = [f"# {line}" for line in head]
    if run.tree is not None:
        start += [
            f"{names[id(variable)]} {value:.17g}"
            for component, array in built.start_values(run.tree)
            for variable, value in zip(component.values(), array.ravel().tolist(), strict=True)
            if id(variable) in names
        ]
    for suffix, text in texts.items():
        texts[suffix] = "".join(f"{FORMATS[suffix]} {line}\n" for line in head) + text
    return texts | {".mst": "\n".join(start) + "\n"}
