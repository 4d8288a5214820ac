"""What is worth racing: ready-made comparisons, and names that say what differs."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from dashboard.server.job_view import setting_phrase
from dashboard.views.solve.advice import SEARCHES
from octcore.data.dataset import Dataset
from octcore.errors import OctError
from octcore.errors import refusal as refused
from octcore.formulations.base import baseline, get_formulation, list_formulations
from octcore.program import Capability
from octcore.solving.settings import Asked, check_against_data, check_settings

Settings = Mapping[str, Any]

CUSTOM = "Choose yourself"


@dataclass(frozen=True)
class Preset:
    """A comparison that answers one question."""

    title: str
    question: str
    entrants: tuple[Settings, ...]
    """Keywords of `octcore.solve` beyond the common ones, two to four."""


def _same(formulations: Sequence[str], **common: Any) -> tuple[Settings, ...]:
    return tuple({"formulation": key, **common} for key in formulations)


def _beside_greedy(key: str, **common: Any) -> tuple[Settings, ...]:
    """The greedy tree, which pays for a leaf what the other one pays by default, and that one."""
    greedy, other = _same((baseline().key, key), **common)
    usual = {p.name: p.default for p in get_formulation(key).info.hyperparameters}
    params = {p.name: usual[p.name] for p in baseline().hyperparameters if p.name in usual}
    return {**greedy, "params": params}, other


PRESETS = (
    Preset(
        "FlowOCT against accelerated BendOCT",
        "What do stronger cuts bring on the same model? Exact search is the referee: it proves "
        "the optimum that the other two work towards.",
        _same(("flow-oct", "accelerated-bend-oct", "path-search"), depth=2),
    ),
    Preset(
        "QB-5 against QT-5",
        "Buckets or thresholds: how much does the encoding of numeric columns decide?",
        tuple({"formulation": "flow-oct", "depth": 2, "encoding": key} for key in ("QB-5", "QT-5")),
    ),
    Preset(
        "Greedy against optimal",
        "CART beside the best tree of the same depth on the same features.",
        _beside_greedy("path-search", depth=2, encoding="QT-5"),
    ),
    Preset(
        "Depth 1, 2 and 3",
        "What does another level of splits bring?",
        tuple({"formulation": "path-search", "depth": depth} for depth in (1, 2, 3)),
    ),
    Preset(
        "The price of a leaf",
        "Three leaf penalties: how accuracy is paid with leaves.",
        tuple(
            {"formulation": "path-search", "depth": 3, "params": {"leaf_penalty": penalty}}
            for penalty in (0.0, 0.01, 0.05)
        ),
    ),
    Preset(
        "Axis-parallel against oblique",
        "Any threshold on one feature, or a weighted sum of several, in every split.",
        _same(("threshold-search", "s-oct"), depth=2),
    ),
    Preset(
        "MARGOT and its feature selection",
        "Maximum margins with all features, with a budget of features, and with a price for them.",
        _same(("margot", "hfs-margot", "sfs-margot"), depth=2),
    ),
)


def presets() -> tuple[Preset, ...]:
    """What is written above, and every other formulation beside the greedy tree."""
    named = {str(entrant["formulation"]) for preset in PRESETS for entrant in preset.entrants}
    others = (info for info in list_formulations() if info.key not in named)
    return PRESETS + tuple(
        Preset(
            f"{info.title} against greedy",
            info.good_at or info.summary,
            _beside_greedy(info.key, depth=min(2, info.max_depth)),
        )
        for info in others
    )


def fitting_presets(data: Dataset) -> tuple[Preset, ...]:
    """Presets of which every entrant can be solved on the data."""
    return tuple(p for p in presets() if not any(refusal(s, data) for s in p.entrants))


def refusal(settings: Settings, data: Dataset) -> str:
    """Say in one sentence why settings and data do not go together; empty if they do."""
    return refused(lambda: check_against_data(check_settings(**settings), data))


def start_order(entrants: Sequence[Settings]) -> list[int]:
    """Order of starting: exact search and CART first, so that they are no queue for the rest."""
    quick = SEARCHES | {Capability.GREEDY}
    needs = [Asked.of(settings).info.capabilities[0] for settings in entrants]
    return sorted(range(len(entrants)), key=lambda i: needs[i] not in quick)


def short_labels(
    settings: Sequence[Settings],
    titles: Mapping[int, str] = MappingProxyType({}),
    data: Sequence[str] = (),
) -> tuple[str, ...]:
    """Name runs by what differs, their data too, and by `titles` at some positions.

    Runs that nothing tells apart get a number.
    """
    labels: list[str] = []
    for position, told in enumerate(differences(settings, titles)):
        words = label = told + (f" on {data[position]}" if len(set(data)) > 1 else "")
        number = 2
        while label in labels:
            label, number = f"{words} ({number})", number + 1
        labels.append(label)
    return tuple(labels)


MOST_DIFFERENCES = 4


def differences(
    settings: Sequence[Settings], titles: Mapping[int, str] = MappingProxyType({})
) -> Iterator[str]:
    """Say for every run what of its settings the others do not share; else what it is."""
    flat = flat_beside(settings)
    names = dict.fromkeys(name for entry in flat for name in entry)
    differing = [n for n in names if len({str(entry.get(n)) for entry in flat}) > 1]
    # Formulations have engines of their own.
    left_out = {"formulation", "data", "engine" if "formulation" in differing else ""}
    told = []
    for position, entry in enumerate(flat):
        info = get_formulation(str(entry["formulation"])).info
        title = titles.get(position) or info.title
        formulation = [title] if "formulation" in differing or titles else []
        parts = formulation + [
            setting_phrase(name, entry[name])
            for name in differing
            if name not in left_out
            and entry.get(name) is not None
            # What the formulation needs by itself is no news beside its name.
            and not (formulation and name == "encoding" and entry[name] == info.default_encoding)
        ]
        told.append(parts or [title])
    for parts in told:
        few = parts[:MOST_DIFFERENCES]
        is_own = [other[:MOST_DIFFERENCES] for other in told].count(few) == 1
        yield ", ".join(few if is_own else parts)


def flat_beside(settings: Sequence[Settings], of_defaults: bool = False) -> list[dict[str, Any]]:
    """Settings of runs as one level; a number at its default is told where others have another.

    `of_defaults`: whether that is so where the others have a default of their own.
    """
    flat = [flat_settings(entry) for entry in settings]
    infos = [get_formulation(str(entry["formulation"])).info for entry in flat]
    usual = [{p.name: p.default for p in info.hyperparameters} for info in infos]
    for entry, own in zip(flat, usual, strict=True):
        for name, value in own.items():
            is_told = of_defaults and any(other.get(name, value) != value for other in usual)
            is_told |= any(name in other for other in flat)
            if is_told and value is not None and not isinstance(value, bool):
                entry.setdefault(name, value)
    return flat


def flat_settings(settings: Settings) -> dict[str, Any]:
    """Settings as one level: hyperparameters and constraints by their own names.

    What stands at its default is left out, so that given and resolved settings look the same.
    """
    try:
        checked = check_settings(**{k: v for k, v in settings.items() if k != "data"})
    except OctError:
        return {k: v for k, v in settings.items() if not isinstance(v, Mapping)}
    plain = check_settings(checked.formulation, encoding=checked.encoding)
    record, defaults = checked.to_dict(), plain.to_dict()
    params, constraints = record.pop("params"), record.pop("constraints")
    always = ("formulation", "encoding", "depth")
    flat = {k: v for k, v in record.items() if k in always or v != defaults[k]}
    flat |= {k: v for k, v in params.items() if v != defaults["params"].get(k)}
    return flat | dict(constraints)
