"""How trees made in one way do on new rows: the same again on further random splits of the rows."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from octcore.data.dataset import Dataset
from octcore.data.serial import Record
from octcore.engines.events import Clock
from octcore.errors import CancelledError
from octcore.formulations.base import baseline
from octcore.selection.penalty_path import penalty_path
from octcore.solving.prepare import split_rows
from octcore.solving.settings import class_weights
from octcore.solving.solve import solve
from octcore.tree.constraints import Constraints
from octcore.tree.tree import Tree

N_SPLITS = 10  # effort only: a path each


@dataclass(frozen=True)
class Tally:
    """What a tree says of the held-out rows of one split."""

    leaves: int
    rows: int  # held-out rows
    right: int  # those of them that get their class
    worth: float  # share of their weight that is right, where classes have weights
    named: int = 0
    found: int = 0
    told: int = 0
    asked: int = 0
    """`named`, `found`, `told`: rows of the class that matters, those of them that get it, and all
    rows that get it; `asked`: those of that class that a person is asked about."""


@dataclass(frozen=True)
class Split(Record):
    """One random split: what the trees of its training part say of its held-out part."""

    tree: Tally  # the optimal tree at the price of a leaf
    greedy: Tally  # CART of the same depth and price
    largest: Tally  # always the largest class
    sizes: tuple[Tally, ...]  # the optimal tree of every number of leaves, ascending
    n_train: int


@dataclass(frozen=True)
class Size:
    """A number of leaves over several splits."""

    leaves: int
    worth: float  # mean of `Tally.worth`
    error: float  # one standard error of that mean


def repeated_splits(
    data: Dataset,
    encoding: str = "auto",
    depth: int = 3,
    leaf_penalty: float = 0.01,
    constraints: Mapping[str, Any] | None = None,
    test_size: float = 0.25,
    seed: int = 0,
    n_splits: int = N_SPLITS,
    focus: Any = None,
    time_limit: float = 60.0,
    on_split: Callable[[Split], None] | None = None,
    cancel: Callable[[], bool] | None = None,
) -> tuple[Split, ...]:
    """Hold out other rows again and again, and judge on them the trees that the rest gives.

    Settings and errors are those of `octcore.penalty_path`; `CancelledError` also where the time
    ends before the first split does.  As many splits as the time allows are made, in full, the
    first with the seed, each further one with the next; `on_split` is told every one at once.
    `focus`: the class that matters, for its recall and precision.
    """
    clock = Clock(time_limit)
    found: list[Split] = []
    for number in range(n_splits):
        # One more takes as long as those before on average.
        if found and clock.elapsed * (number + 1) / number > time_limit:
            break
        same = {"depth": depth, "test_size": test_size, "seed": seed + number}
        try:
            path = penalty_path(
                data, encoding, constraints=constraints, time_limit=time_limit - clock.elapsed,
                cancel=cancel, **same,
            )  # fmt: skip
        except CancelledError:
            if not found or (cancel is not None and cancel()):
                raise
            break  # it took longer than those before
        train, test, _ = split_rows(data, test_size, seed + number)
        assert test is not None
        kept = {k: v for k, v in (constraints or {}).items() if k in baseline().constraints}
        greedy = solve(
            data, formulation=baseline().key, encoding="raw", cancel=cancel, **same,
            params={"leaf_penalty": leaf_penalty},
            constraints=kept,
        ).needed  # fmt: skip
        X = path.encoding.transform(test.frame)
        weights = class_weights(Constraints.parse(constraints or {}), test.codes, test.classes)
        judged = partial(tally, rows=test, focus=focus, weights=weights)
        largest = Tree.leaf(int(np.bincount(train.codes).argmax()), X.shape[1], data.n_classes)
        split = Split(
            tree=judged(path.at(leaf_penalty).tree, X),
            greedy=judged(greedy.tree, greedy.tree.encoded(greedy.encoding, test.frame)),
            largest=judged(largest, X),
            sizes=tuple(judged(step.tree, X) for step in path.steps),
            n_train=train.n_samples,
        )
        found.append(split)
        if on_split is not None:
            on_split(split)
    return tuple(found)


def tally(
    tree: Tree, X: np.ndarray, rows: Dataset, focus: Any, weights: np.ndarray | None = None
) -> Tally:
    """Count what a tree says of rows.

    `X`: the rows in the columns of the tree.  `focus`: the class that matters; None for none.
    """
    said = tree.predict_codes(X)
    is_right = said == rows.codes
    found = (tree.n_leaves, len(said), int(is_right.sum()))
    worth = float(np.average(is_right, weights=weights))
    if focus is None:
        return Tally(*found, worth)
    which = rows.classes.index(focus)
    is_named, is_told, is_asked = rows.codes == which, said == which, said >= rows.n_classes
    found_told = (is_named & is_told).sum(), is_told.sum()
    counts = (is_named.sum(), *found_told, (is_named & is_asked).sum())
    return Tally(*found, worth, *map(int, counts))


def sizes_of(splits: Sequence[Split]) -> tuple[Size, ...]:
    """Worth on held-out rows of every number of leaves, over all splits; none from a single one.

    The parts of random splits overlap, so that their spread alone is too small an error: it is
    widened as Nadeau and Bengio (2003) do, by the held-out rows per training row.
    """
    if len(splits) < 2:
        return ()
    first = max(split.sizes[0].leaves for split in splits)
    most = max(split.sizes[-1].leaves for split in splits)
    share = splits[0].tree.rows / splits[0].n_train
    found = []
    for leaves in range(first, most + 1):
        largest = [[s for s in split.sizes if s.leaves <= leaves][-1] for split in splits]
        values = np.array([size.worth for size in largest])
        error = float(np.sqrt((1 / len(values) + share) * values.var(ddof=1)))
        found.append(Size(leaves, float(values.mean()), error))
    return tuple(found)


def recommended(sizes: Sequence[Size]) -> Size:
    """The smallest within one standard error of the best."""
    best = max(sizes, key=lambda size: size.worth)
    return next(size for size in sizes if size.worth >= best.worth - best.error)
