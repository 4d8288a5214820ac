"""Write the files of ``sample_data/`` anew: ``python -m tests.generate_samples FOLDER``.

Two runs write the same bytes. Iris, wine and wdbc come from the copies that scikit-learn carries;
balance-scale, tic-tac-toe and the Monk's problems follow from their rules; the two-dimensional sets
come from `octcore.data.synthetic`; the finches are invented.
"""

from __future__ import annotations

import itertools
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import numpy as np

from octcore.data import synthetic
from octcore.data.export import rows_to_csv

Table = tuple[list[str], list[list[object]]]


def _bundled(loader: str, target: str, names: dict[str, str]) -> Table:
    """Take a set from scikit-learn, with class names instead of codes."""
    from sklearn import datasets

    bunch = getattr(datasets, loader)()
    header = [str(name) for name in bunch.feature_names] + [target]
    labels = [names[str(bunch.target_names[code])] for code in bunch.target]
    rows = [
        [*(_short(value) for value in row), label]
        for row, label in zip(bunch.data.tolist(), labels, strict=True)
    ]
    return header, rows


def _short(value: float) -> object:
    return int(value) if float(value).is_integer() and value >= 100 else value


def _iris() -> Table:
    return _bundled("load_iris", "species", {n: n for n in ("setosa", "versicolor", "virginica")})


def _wine() -> Table:
    # The three cultivars of the chemical analysis, in the order of the original files.
    names = {"class_0": "Barolo", "class_1": "Grignolino", "class_2": "Barbera"}
    header, rows = _bundled("load_wine", "cultivar", names)
    return [name.replace("/", " / ").replace("_", " ") for name in header], rows


def _wdbc() -> Table:
    return _bundled(
        "load_breast_cancer", "diagnosis", {"malignant": "malignant", "benign": "benign"}
    )


def _balance_scale() -> Table:
    """All 625 settings of a scale; the larger product of weight and distance goes down."""
    header = ["left weight", "left distance", "right weight", "right distance", "tips to"]
    rows: list[list[object]] = []
    for setting in itertools.product(range(1, 6), repeat=4):
        left, right = setting[0] * setting[1], setting[2] * setting[3]
        tip = "L" if left > right else "R" if right > left else "B"
        rows.append([*setting, tip])
    return header, rows


_SQUARES = [
    f"{row} {column}"
    for row in ("top", "middle", "bottom")
    for column in ("left", "middle", "right")
]
_TRIPLES = [(0, 1, 2), (3, 4, 5), (6, 7, 8), (0, 3, 6), (1, 4, 7), (2, 5, 8), (0, 4, 8), (2, 4, 6)]


def _wins(board: str, player: str) -> bool:
    return any(all(board[square] == player for square in triple) for triple in _TRIPLES)


def _final_boards(board: str = "b" * 9, player: str = "x") -> Iterator[str]:
    """Play every game of noughts and crosses to its end; boards recur."""
    other = "o" if player == "x" else "x"
    if _wins(board, other) or "b" not in board:
        yield board
        return
    for square in range(9):
        if board[square] == "b":
            yield from _final_boards(board[:square] + player + board[square + 1 :], other)


def _tic_tac_toe() -> Table:
    """All 958 boards on which a game that x began can end; positive if x has won."""
    boards = sorted(set(_final_boards()), key=lambda board: ["xob".index(mark) for mark in board])
    rows: list[list[object]] = [
        [*board, "positive" if _wins(board, "x") else "negative"] for board in boards
    ]
    return [*_SQUARES, "x wins"], rows


_ROBOTS: dict[str, tuple[str, ...]] = {
    "head shape": ("round", "square", "octagon"),
    "body shape": ("round", "square", "octagon"),
    "smiling": ("yes", "no"),
    "holding": ("sword", "balloon", "flag"),
    "jacket": ("red", "yellow", "green", "blue"),
    "tie": ("yes", "no"),
}


def _monks(rule: Callable[[tuple[int, ...]], bool]) -> Table:
    """All 432 robots, with the rule applied to value numbers that count from 1."""
    header = [*_ROBOTS, "class"]
    rows: list[list[object]] = []
    for robot in itertools.product(*(range(1, len(values) + 1) for values in _ROBOTS.values())):
        words = [values[number - 1] for values, number in zip(_ROBOTS.values(), robot, strict=True)]
        rows.append([*words, int(rule(robot))])
    return header, rows


def _monks_1() -> Table:
    return _monks(lambda robot: robot[0] == robot[1] or robot[4] == 1)


def _monks_2() -> Table:
    return _monks(lambda robot: sum(number == 1 for number in robot) == 2)


def _monks_3() -> Table:
    return _monks(
        lambda robot: (robot[4] == 3 and robot[3] == 1) or (robot[4] != 4 and robot[1] != 3)
    )


def _planar(key: str) -> Callable[[], Table]:
    def make() -> Table:
        made = synthetic.generate(key)
        rows: list[list[object]] = [
            [round(x, 5), round(y, 5), label]
            for (x, y), label in zip(made.points.tolist(), made.labels.tolist(), strict=True)
        ]
        return ["x1", "x2", "class"], rows

    return make


def _finches() -> Table:
    """Draw 300 invented birds of three species, with gaps as field notes have them."""
    rng = np.random.default_rng(20)
    header = ["beak length (mm)", "wing length (mm)", "weight (g)", "feather wear"]
    header += ["habitat", "island", "ringed", "species"]
    profile = {
        "lantern": (13.5, 71.0, 19.0, (0.7, 0.2, 0.1)),
        "reed": (16.5, 69.0, 17.5, (0.1, 0.75, 0.15)),
        "shore": (16.0, 77.0, 23.5, (0.1, 0.2, 0.7)),
    }
    habitats, islands = ("forest", "marsh", "coast"), ("North", "Middle", "South")
    species = rng.permutation(np.repeat(list(profile), [120, 100, 80])).tolist()
    rows: list[list[object]] = []
    for name in species:
        beak, wing, weight, places = profile[name]
        size = rng.normal()
        worn = int(rng.choice(3, p=(0.5, 0.3, 0.2)))
        rows.append(
            [
                round(beak + 0.5 * size + rng.normal(scale=0.7), 1),
                round(wing + 1.5 * size - worn + rng.normal(scale=1.2), 1),
                round(weight + size + rng.normal(scale=1.0), 1),
                ("low", "medium", "high")[worn],
                habitats[int(rng.choice(3, p=places))],
                islands[int(rng.integers(3))],
                "yes" if rng.random() < 0.35 else "no",
                name,
            ]
        )
    for column, gaps in ((1, 6), (2, 9), (3, 5), (4, 8)):
        for row in rng.choice(len(rows), size=gaps, replace=False).tolist():
            rows[row][column] = None
    return header, rows


SAMPLES: dict[str, Callable[[], Table]] = {
    "iris": _iris,
    "wine": _wine,
    "wdbc": _wdbc,
    "balance-scale": _balance_scale,
    "tic-tac-toe": _tic_tac_toe,
    "monks-1": _monks_1,
    "monks-2": _monks_2,
    "monks-3": _monks_3,
    "finches": _finches,
    **{recipe.key: _planar(recipe.key) for recipe in synthetic.list_generators()},
}


def sample_text(name: str) -> str:
    """Return the CSV text of a sample."""
    header, rows = SAMPLES[name]()
    # Labels -1 and texts of these sets are no formulas, so the guard changes nothing here.
    return rows_to_csv(header, rows)


def write_samples(folder: Path, names: Iterable[str] = tuple(SAMPLES)) -> None:
    """Write one CSV file per sample into a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    for name in names:
        (folder / f"{name}.csv").write_bytes(sample_text(name).encode("utf-8"))


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: python -m tests.generate_samples FOLDER")
    write_samples(Path(sys.argv[1]))
