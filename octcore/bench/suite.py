"""What a suite declares, and the registry of suites: one file in `octcore.bench.suites` each."""

import functools
import importlib
import pkgutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from octcore.bench.instance import Instance, Line
from octcore.parameters import unknown_name


@dataclass(frozen=True)
class Suite:
    """A published experiment that can be repeated."""

    key: str
    title: str
    """`key`, `title`: name on the command line, and words; the title says what the reference
    columns hold."""
    formulations: tuple[str, ...]
    """What runs unless ``--formulations`` says otherwise."""
    needs: tuple[str, ...]
    """Files, relative to the data folder."""
    instances: Callable[[Path, str, tuple[str, ...]], Sequence[Instance]]
    """``(folder, study, formulations) -> instances``, in the order in which they run."""
    studies: tuple[str, ...] = ("main",)
    """Variants of the suite, the default first."""
    programs: Mapping[str, Callable[[Instance, Line, float], Line]] = field(default_factory=dict)
    """Programs of others by the key that stands for one in place of a formulation; each is
    ``(instance, line so far, limit in seconds) -> line``."""


@functools.cache
def list_suites() -> dict[str, Suite]:
    """All suites by key."""
    import octcore.bench.suites as package

    found = {}
    for module in pkgutil.iter_modules(package.__path__):
        suite = importlib.import_module(f"{package.__name__}.{module.name}").SUITE
        found[suite.key] = suite
    return found


def get_suite(key: str) -> Suite:
    """Find a suite by key.

    Raises `SettingsError` if there is none; near matches are listed.
    """
    suites = list_suites()
    if key not in suites:
        raise unknown_name("UNKNOWN_SUITE", "suite", key, suites, "octcore bench")
    return suites[key]


def of_datasets(instances: Sequence[Instance], names: Sequence[str]) -> list[Instance]:
    """Keep the instances of some data sets; all of them where none is named.

    Raises `SettingsError` if there is no such data set; near matches are listed.
    """
    known = dict.fromkeys(instance.dataset for instance in instances)
    for name in names:
        if name not in known:
            raise unknown_name("UNKNOWN_DATASET", "data set", name, known, "this study")
    return [instance for instance in instances if not names or instance.dataset in names]


def pick(instances: Sequence[Instance], cases: int | None) -> list[Instance]:
    """Keep the instances of some cases, spread evenly over all of them.

    `cases`: number of cases (data set, encoding, depth and penalty, or split); None for all.
    """
    known = list(dict.fromkeys(instance.case for instance in instances))
    if cases is None or cases >= len(known):
        return list(instances)
    chosen = {known[(2 * i + 1) * len(known) // (2 * cases)] for i in range(cases)}
    return [instance for instance in instances if instance.case in chosen]
