"""A lesson: the recipe of a picture, small enough for a link, checked the same way from anywhere.

A lesson is never a result.  It says how the points are made (generator and seed, or the points
themselves when they were drawn by hand) and with what settings trees are grown on them, so that it
gives the same picture on any machine.
"""

import functools
import json
import re
import urllib.parse
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pandas as pd

from octcore.data.dataset import Dataset
from octcore.data.serial import digest
from octcore.data.synthetic import Generator, SyntheticSet, generate, list_generators
from octcore.errors import SettingsError
from octcore.formulations.base import (
    FormulationInfo,
    baseline,
    get_formulation,
    list_formulations,
    of_common_objective,
)
from octcore.parameters import Parameter, looked_up, unknown_name
from octcore.solving.settings import DEPTH

FORMAT, VERSION = "octcore-lesson", 1
CLASSES = ("A", "B")
GRID = 1000  # drawn points lie on thousandths: fine enough for a picture, short enough for a link
MOST_POINTS, MOST_SHOWN = 400, 6
LONGEST_FILE = 200_000
DRAWN = "drawn"
FIRST_SET = "4-partitions"
FIRST_FORMULATIONS = (
    baseline().key,
    of_common_objective()[0].key,
    next(info.key for info in list_formulations() if info.has_margins and info.max_classes == 2),
)
"""Greedy, optimal, with margins."""
TIME_LIMIT = 30.0

Points = tuple[tuple[int, int, int], ...]  # drawn points: x and y in thousandths, class index
Cuts = tuple[tuple[int, int], ...]
"""A guessed tree from the root on: axis (0 is x) and place in thousandths of every cut."""

_OPTIMAL, _MARGINS = (get_formulation(key).info for key in FIRST_FORMULATIONS[1:])
SETTINGS: tuple[Parameter, ...] = (
    replace(DEPTH, symbol="D", high=4),
    _OPTIMAL.parameter("leaf_penalty"),
    *(  # at first large: every point is wanted on its side
        replace(_MARGINS.parameter(name), default=1000.0, low=1e-3, high=1e6, low_open=False)
        for name in ("C_upper", "C_last")
    ),
)
PARAMETERS = {parameter.name: parameter for parameter in SETTINGS}
STEP, GUESS, PRESENT = "step", "guess", "present"
IGNORED = frozenset({"run", "data", STEP, GUESS, PRESENT})
"""Query parameters of the page that are no part of a lesson."""
LINKED = frozenset({"set", "points", "show", *PARAMETERS}) | {
    parameter.name for made in list_generators() for parameter in made.parameters
}
"""Query parameters that are a lesson; others are added to links by whoever passes them on."""
CUT = r"[xy](?:1000|\d{1,3})"
FIRST_GUESS: Cuts = ((0, 500), (1, 500), (1, 500))
HEAD = frozenset({"format", "version"})
"""What stands in a file besides the lesson; `read_lesson` checks it."""


@dataclass(frozen=True)
class Lesson:
    """What a lesson consists of."""

    key: str = FIRST_SET  # generator, or ``"drawn"`` for points of one's own
    recipe: Mapping[str, float] = field(default_factory=dict)
    points: Points | None = None
    """Points drawn or moved by hand: x and y in thousandths, class index; None as generated."""
    settings: Mapping[str, Any] = field(default_factory=dict)
    formulations: tuple[str, ...] = FIRST_FORMULATIONS  # what grows a tree, in teaching order

    @property
    def depth(self) -> int:
        """Levels of splits."""
        return int(self.settings["depth"])

    @property
    def token(self) -> str:
        """Content hash: equal lessons give equal tokens."""
        return digest(json.dumps(to_dict(self), sort_keys=True).encode())[:12]


def generator(key: str) -> Generator | None:
    """Return the recipe of a set; None for points of one's own.

    Raises `SettingsError` for an unknown key.
    """
    known = {made.key: made for made in list_generators()} | {DRAWN: None}
    return looked_up("UNKNOWN_CHOICE", "set", key[:40], known, "A lesson")


def default_lesson(key: str = FIRST_SET) -> Lesson:
    """Return the lesson of a set with the defaults of its declarations."""
    return lesson_from({"set": key, **({"points": ""} if key == DRAWN else {})})


def lesson_from(given: Mapping[str, Any]) -> Lesson:
    """Check a lesson given by name, from a link, a file or a form.

    `given`: flat: ``set``, settings of its generator, ``points``, ``show``, depth and prices.  What
    is left out takes its default.
    Raises `SettingsError` for an unknown name or a value out of range, in one sentence.
    """
    given = {name: value for name, value in given.items() if name not in IGNORED | HEAD}
    key = str(given.pop("set", FIRST_SET))
    made = generator(key)
    declared = {} if made is None else {p.name: p for p in made.parameters}
    points = _points(given.pop("points", None))
    if made is None and points is None:
        points = ()
    shown = _formulations(given.pop("show", FIRST_FORMULATIONS))
    for name in given:
        if name not in declared and name not in PARAMETERS:
            known = [*declared, *PARAMETERS, "points", "show"]
            raise unknown_name(
                "UNKNOWN_SETTING", "setting", str(name)[:40], known, f"A lesson on {key}"
            )
    recipe = {n: p.check(given.get(n, p.default)) for n, p in declared.items()}
    settings = {n: p.check(given.get(n, p.default)) for n, p in PARAMETERS.items()}
    return Lesson(key, recipe, points, settings, shown)  # type: ignore[arg-type]


def _points(given: Any) -> Points | None:
    if given is None:
        return None
    if isinstance(given, str):
        given = [part.split("-") for part in given.split("_")] if given else []
    try:
        points = tuple((int(x), int(y), int(k)) for x, y, k in given)
    except (TypeError, ValueError, OverflowError):
        message = "The points of a lesson are x-y-class, joined by _, with x and y in thousandths; "
        message += f"{str(given)[:40]!r} is not."
        raise SettingsError("BAD_POINTS", message, "points") from None
    if len(points) > MOST_POINTS:
        message = f"A lesson takes at most {MOST_POINTS} drawn points, but {len(points)} came."
        raise SettingsError("TOO_MANY_POINTS", message, "points")
    for x, y, k in points:
        if not (0 <= x <= GRID and 0 <= y <= GRID and 0 <= k < len(CLASSES)):
            raise SettingsError(
                "BAD_POINTS",
                f"The point {x}-{y}-{k} lies outside 0 to {GRID} or has a class other than 0 and "
                "1.",
                "points",
            )
    return points


def _formulations(given: Any) -> tuple[str, ...]:
    names = given.split(",") if isinstance(given, str) else given
    known = [info.key for info in teachable()]
    if not isinstance(names, (list, tuple)) or not 1 <= len(names) <= MOST_SHOWN:
        words = f"A lesson shows 1 to {MOST_SHOWN} formulations; give their keys."
        raise SettingsError("BAD_CHOICE", words, "show")
    for name in names:
        if name not in known:
            raise unknown_name("UNKNOWN_CHOICE", "formulation", str(name)[:40], known, "A lesson")
    return tuple(dict.fromkeys(str(name) for name in names))


def tree_names(keys: Iterable[str]) -> dict[str, str]:
    """What the trees of formulations are called in a lesson."""
    return {key: get_formulation(key).info.teaching_text.name for key in keys}


def teachable() -> tuple[FormulationInfo, ...]:
    """Formulations in the order in which a lesson offers them."""
    first = {key: k for k, key in enumerate(FIRST_FORMULATIONS)}
    return tuple(sorted(list_formulations(), key=lambda info: first.get(info.key, len(first))))


def to_query(lesson: Lesson) -> dict[str, str]:
    """Query parameters of the link; what has its default is left out."""
    query = {"set": lesson.key}
    made = generator(lesson.key)
    declared = {p.name: p for p in made.parameters} if made is not None else {}
    for values, parameters in ((lesson.recipe, declared), (lesson.settings, PARAMETERS)):
        for name, value in values.items():
            if value != parameters[name].default:
                query[name] = str(value)
    if lesson.points is not None:
        query["points"] = "_".join("-".join(map(str, point)) for point in lesson.points)
    if lesson.formulations != FIRST_FORMULATIONS:
        query["show"] = ",".join(lesson.formulations)
    return query


def link(lesson: Lesson, address: str, **state: str) -> str:
    """Return the address of the page with the lesson in it, and where in the lesson one is."""
    base = address.split("?", 1)[0]
    return f"{base}?{urllib.parse.urlencode(to_query(lesson) | state, safe=',-_')}"


def is_presented(query: Mapping[str, str]) -> bool:
    """Whether a page shows nothing but its lesson, for a projector."""
    return query.get(PRESENT) == "1"


def guess_from(given: str | None, depth: int) -> Cuts:
    """Read the cuts of a link, such as ``x500_y300_y700``; others are those to begin with."""
    wanted = 1 if depth == 1 else len(FIRST_GUESS)
    found = re.fullmatch(rf"{CUT}(_{CUT})*", given or "")
    cuts = tuple(("xy".index(c[0]), int(c[1:])) for c in found[0].split("_")) if found else ()
    return cuts if len(cuts) == wanted else FIRST_GUESS[:wanted]


def guess_words(cuts: Cuts) -> str:
    """Write cuts as they stand in a link."""
    return "_".join(f"{'xy'[axis]}{place}" for axis, place in cuts)


def to_dict(lesson: Lesson) -> dict[str, Any]:
    """Plain data for a file."""
    record: dict[str, Any] = {
        "format": FORMAT,
        "version": VERSION,
        "set": lesson.key,
        **dict(lesson.recipe),
        **dict(lesson.settings),
        "show": list(lesson.formulations),
    }
    if lesson.points is not None:
        record["points"] = [list(point) for point in lesson.points]
    return record


def read_lesson(content: bytes) -> Lesson:
    """Read a lesson file. Raises `SettingsError` if it is none, or a setting is out of range."""
    if len(content) > LONGEST_FILE:
        raise SettingsError("TOO_LARGE", "The file is too large for a lesson; choose another one.")
    try:
        record = json.loads(content)
    except (ValueError, RecursionError):
        record = None
    if not isinstance(record, dict) or record.pop("format", None) != FORMAT:
        raise SettingsError("NOT_A_LESSON", "The file is not a lesson of this app.")
    if record.pop("version", None) != VERSION:
        raise SettingsError("NOT_A_LESSON", "The lesson was made by another version of this app.")
    return lesson_from(record)


def lesson_set(lesson: Lesson) -> SyntheticSet | None:
    """Points and truth as generated; None for points of one's own."""
    return None if lesson.key == DRAWN else generate(lesson.key, **lesson.recipe)


def lesson_points(lesson: Lesson) -> tuple[np.ndarray, np.ndarray]:
    """Coordinates in [0, 1], shape (n, 2), and class indices, shape (n,)."""
    if lesson.points is not None:
        table = np.array(lesson.points, dtype=float).reshape(-1, 3)
        return table[:, :2] / GRID, table[:, 2].astype(np.int64)
    made = lesson_set(lesson)
    assert made is not None
    return made.points, (made.labels > 0).astype(np.int64)


def lesson_data(lesson: Lesson) -> Dataset:
    """Make the data set of a lesson: columns x and y, classes A and B.

    Raises `OctError` if there are too few points, or points of one class only.
    """
    points, codes = lesson_points(lesson)
    counts = np.bincount(codes, minlength=len(CLASSES))
    if counts.min() < 1:
        raise SettingsError(
            "TOO_FEW_POINTS", "A tree needs points of both classes; draw some of each.", "points"
        )
    frame = pd.DataFrame(points, columns=["x", "y"])
    kinds = {"x": "numeric", "y": "numeric"}
    labels = np.array(CLASSES, dtype=object)[codes]
    name = "drawn points" if lesson.points is not None else lesson.key
    return Dataset.from_arrays(frame, labels, kinds=kinds, name=name)


def solve_settings(lesson: Lesson, key: str) -> dict[str, Any]:
    """Keywords of `octcore.solve` for one formulation of a lesson.

    Trees of thresholds choose among all middles between neighbours of different class, so that
    greedy and optimal trees have the same choice.  Others get the points as they are drawn, within
    [0, 1]: on scaled columns margins would be other distances than those of the picture.
    """
    info = get_formulation(key).info
    univariate = info.needs_binary_features or key == baseline().key
    seen = "none" if info.default_encoding == "scaled" else "auto"
    own = {parameter.name for parameter in info.hyperparameters}
    return {
        "formulation": key,
        "encoding": "class-change" if univariate else seen,
        "depth": min(lesson.depth, info.max_depth),
        "params": {n: v for n, v in lesson.settings.items() if n in own and n != "depth"},
        "time_limit": TIME_LIMIT,
    }


def run_key(lesson: Lesson, key: str) -> str:
    """Content hash of one tree of a lesson: its points and the settings that matter to it."""
    points, codes = lesson_points(lesson)
    settings = json.dumps(solve_settings(lesson, key), sort_keys=True)
    return digest(settings.encode(), points.tobytes(), codes.tobytes())


def with_points(lesson: Lesson, points: Points) -> Lesson:
    """Return the lesson on points drawn or moved by hand, checked as any other."""
    return replace(lesson, points=_points(points))


@dataclass(frozen=True)
class Part:
    """A lesson of a class: what it asks, and what to do on paper."""

    question: str
    tasks: tuple[str, ...]
    lesson: Lesson


@functools.cache
def course() -> tuple[Part, ...]:
    """Three lessons of a quarter of an hour each."""
    greedy, optimal, margins = FIRST_FORMULATIONS
    return (
        Part(
            "Is the best next step the best way?",
            (
                "Draw three lines along the axes: one through the whole square, then one on either "
                "side of it. Every part takes the class of most of its points. Your errors:",
                "Errors of the greedy tree, which takes the best next line each time:",
                "Errors of the optimal tree of the same depth:",
                "Why does the greedy tree begin where it begins?",
            ),
            lesson_from({"show": f"{greedy},{optimal}"}),
        ),
        Part(
            "Which of all lines that part the points?",
            (
                "Draw a line, at any slant, that parts most of the points, with as much room on "
                "both sides as there is. How wide is your strip?",
                "One line in each half parts the rest. Ring the points that hold each strip.",
                "Margin of the tree of thresholds, and of the tree with the widest margins:",
                "Which point can be moved without moving any line?",
            ),
            lesson_from({"set": "wedges", "show": f"{optimal},{margins}"}),
        ),
        Part(
            "How can anybody know that no tree is better?",
            (
                "Say that the first line is upright and left of the middle. How many points are "
                "then wrong at least, whatever follows?",
                "Number of arguments that are enough for all first lines:",
                "Number of trees that cost exactly as much as the best one:",
                "What does the proof not say about points that come tomorrow?",
            ),
            lesson_from({"set": "xor", "n": 40, "show": optimal}),
        ),
    )


def part_of(lesson: Lesson) -> int | None:
    """Which lesson of the class this is, its points moved or not; None if none."""
    own = lesson.key, lesson.formulations
    known = [(part.lesson.key, part.lesson.formulations) for part in course()]
    return known.index(own) if own in known else None
