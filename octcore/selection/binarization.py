"""The price of binarization: the optimum on coarser and finer thresholds, and on all of them."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import pandas as pd

from octcore.data.dataset import Dataset
from octcore.data.serial import Record, jsonable
from octcore.encoding.base import Encoding
from octcore.engines.base import Cancel
from octcore.errors import TooLargeError
from octcore.parameters import unknown_name
from octcore.solving.run import Run
from octcore.solving.solve import solve
from octcore.solving.telling import compiling_told
from octcore.tree.raw_units import Numbers, left_condition
from octcore.tree.tree import Tree

FAMILIES = ("QB", "QT")
CLASS_CHANGE, ALL = "class-change", "raw"
SEARCH = "threshold-search"
QUANTILES = range(2, 21)


@dataclass(frozen=True)
class BinarizationPoint:
    """The best tree on one encoding."""

    encoding: str  # ``"QB-q"``, ``"QT-q"``, ``"class-change"`` or ``"raw"`` (all thresholds)
    q: int | None  # number of quantile parts; None where there is none
    columns: int  # encoded columns that the search may split on
    status: str  # ``"optimal"``: the objective is proven for it; ``"too large"``: no place for it
    objective: float | None
    bound: float | None
    """`objective`, `bound`: weighted accuracy less the price of the leaves, on the training
    rows."""
    accuracy: float | None
    test_accuracy: float | None
    """`accuracy`, `test_accuracy`: of the tree on the training and on the held-out rows, by
    routing."""
    leaves: int
    seconds: float | None  # of the solve, encoding included, start-up and compiling not
    thresholds: Mapping[str, tuple[float, ...]]
    """Where the tree cuts each numeric raw column, in raw units."""


@dataclass(frozen=True, eq=False)
class BinarizationPath(Record):
    """One data set and depth on all encodings that were asked for.

    Parameters
    ----------
    points : tuple of BinarizationPoint
        In the order solved: all thresholds, class changes, then by family and number of
        quantiles.
    data_name : str
        Name of the data.
    depth : int
        Largest depth.
    leaf_penalty : float
        Price of a leaf.
    test_size : float
        Held-out share; the same rows for every encoding.
    is_complete : bool
        False when it was stopped.
    """

    points: tuple[BinarizationPoint, ...]
    data_name: str
    depth: int
    leaf_penalty: float
    test_size: float
    is_complete: bool = True

    @property
    def best(self) -> BinarizationPoint | None:
        """The optimum on all thresholds; None if not solved.

        No other encoding of thresholds can beat it; a question for a bucket asks for two at once.
        """
        return next((point for point in self.points if point.encoding == ALL), None)

    def price(self, encoding: str) -> float | None:
        """Objective that an encoding loses against all thresholds, if both are proven.

        Below 0 where questions for buckets gain.
        """
        point = next((p for p in self.points if p.encoding == encoding), None)
        best = self.best
        if point is None or best is None or {point.status, best.status} != {"optimal"}:
            return None
        if point.objective is None or best.objective is None:
            return None
        return best.objective - point.objective

    def table(self) -> pd.DataFrame:
        """One line per encoding."""
        rows = [{k: v for k, v in vars(p).items() if k != "thresholds"} for p in self.points]
        table = pd.DataFrame(rows)
        table["price"] = [self.price(point.encoding) for point in self.points]
        return table

    def to_dict(self) -> dict[str, Any]:
        """Return plain data for JSON."""
        points = [{**jsonable(p), "price": self.price(p.encoding)} for p in self.points]
        return super().to_dict() | {"points": points, "format": "octcore-binarization"}


@compiling_told()
def binarization_path(
    data: Dataset,
    depth: int = 3,
    leaf_penalty: float = 0.01,
    quantiles: Iterable[int] = QUANTILES,
    families: Iterable[str] = FAMILIES,
    class_change: bool = True,
    constraints: Mapping[str, Any] | None = None,
    time_limit: float = 60.0,
    test_size: float = 0.25,
    seed: int = 0,
    threads: int = 1,
    on_point: Callable[[BinarizationPoint, int, int], None] | None = None,
    cancel: Callable[[], bool] | None = None,
) -> BinarizationPath:
    """Solve one data set on all thresholds, on class changes and on quantile encodings.

    The encodings are fitted on the training rows; the held-out rows are the same for all.

    Parameters
    ----------
    data : Dataset
        Rows with a target.
    depth : int
        Largest depth of the trees.
    leaf_penalty : float
        Price of a leaf, in shares of the rows.
    quantiles : iterable of int
        Numbers of quantile parts, each at least 2.
    families : iterable of str
        ``"QB"`` (buckets), ``"QT"`` (thresholds).
    class_change : bool
        Whether to solve on class changes too.
    constraints : mapping or None
        Side constraints, as in `octcore.solve`.
    time_limit : float
        Seconds for each solve.
    test_size : float
        Held-out share, 0 for none.
    seed, threads : int
        As in `octcore.solve`.
    on_point : callable or None
        Receives every point when it is solved, how many are done, and how many there are.
    cancel : callable or None
        Asked often; when it says True, what is done so far is returned.

    Raises
    ------
    SettingsError
        If a family is unknown or a setting is not allowed.
    """
    families, quantiles = tuple(families), tuple(quantiles)
    for family in families:
        if family not in FAMILIES:
            raise unknown_name("UNKNOWN_CHOICE", "family", family, FAMILIES, "binarization_path")
    # All thresholds first, so that others have a price.
    keys: list[tuple[str, int | None]] = [(ALL, None), *[(CLASS_CHANGE, None)] * class_change]
    keys += [(f"{family}-{q}", q) for family in families for q in quantiles]
    points: list[BinarizationPoint] = []
    for key, q in keys:
        if cancel is not None and cancel():
            break
        try:
            run = solve(
                data, SEARCH, encoding=key, depth=depth, params={"leaf_penalty": leaf_penalty},
                constraints=constraints, time_limit=time_limit, test_size=test_size, seed=seed,
                threads=threads, verify=False,
                cancel=cancel or Cancel(),  # an interrupt ends all solves, not this one
            )  # fmt: skip
            points.append(_point(key, q, run))
        except TooLargeError:  # one of them loses none of the others
            nothing = (None, None, None, None)
            points.append(BinarizationPoint(key, q, 0, "too large", *nothing, 0, None, {}))
        if on_point is not None:
            on_point(points[-1], len(points), len(keys))
    return BinarizationPath(
        tuple(points), data.name, depth, leaf_penalty, test_size, len(points) == len(keys)
    )


def _point(encoding: str, q: int | None, run: Run) -> BinarizationPoint:
    same = ("status", "objective", "bound", "accuracy", "test_accuracy")
    return BinarizationPoint(
        encoding=encoding,
        q=q,
        columns=len(run.encoding.columns),
        **{name: getattr(run, name) for name in same},
        leaves=0 if run.tree is None else run.tree.n_leaves,
        seconds=run.timings["solve"],
        thresholds={} if run.tree is None else cuts_of(run.tree, run.encoding),
    )


def cuts_of(tree: Tree, encoding: Encoding) -> dict[str, tuple[float, ...]]:
    """Where a univariate tree cuts each numeric raw column, in raw units, ascending."""
    cuts: dict[str, set[float]] = {}
    for split in tree.splits.values():
        condition = left_condition(split, encoding)
        if isinstance(condition, Numbers):
            ends = {end for interval in condition.intervals for end, _ in interval}
            cuts.setdefault(condition.raw, set()).update(e for e in ends if abs(e) != float("inf"))
    return {name: tuple(sorted(values)) for name, values in cuts.items()}
