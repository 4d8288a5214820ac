"""What people choose by among near-optimal trees: counts, use of features, trees with their worth.

A record of plain values, so that a worker can make it and a page can draw it.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice

import numpy as np

from octcore.data.serial import Record
from octcore.encoding.base import Encoding
from octcore.engines.events import finite
from octcore.selection.near_optimal import NearOptimalTrees
from octcore.tree import metrics, topology
from octcore.tree.tree import Tree

LISTED = 300  # best trees that a record holds one by one
LISTED_SHAPES = 12  # best shapes that are told with their thresholds
RELIANCE_TREES = 500
"""Up to so many trees are all looked at for reliance on features; of more, as many are drawn."""
ROUNDING = 1e-12  # objectives closer than this are the same number, computed in another order


@dataclass(frozen=True)
class FeatureUse:
    """How the trees of a set use a raw feature."""

    name: str
    trees: int
    at_root: int  # `trees`, `at_root`: trees that test it anywhere, and at the root
    low: float
    high: float
    """`low`, `high`: smallest and largest loss of accuracy when its values are permuted, in shares
    of the rows."""
    is_exact: bool
    """Whether all trees were looked at for these losses; otherwise `high` may be too small, and
    `low` too large unless some tree does without the feature."""


def tree_reliance(tree: Tree, X: np.ndarray, y: np.ndarray, groups: np.ndarray) -> dict[int, float]:
    """Loss of accuracy of one tree when a raw feature is permuted, exactly.

    Every row keeps its values but those of the feature, which it gets from another row, each of
    the n rows being equally likely (itself included).  The loss is the expected rise of the share
    of misclassified rows: nothing is drawn, as a row's way depends on the others only through the
    share of rows that pass the tests of the feature on the path to a leaf.

    Returns the loss by raw feature, for those that the tree tests.

    References
    ----------
    Fisher, Rudin and Dominici (2019), "All models are wrong, but many are useful", JMLR 20.
    """
    right = {node: split.goes_right(X) for node, split in tree.splits.items()}
    feature = {node: int(groups[split.features[0]]) for node, split in tree.splits.items()}
    wrong = float(tree.is_wrong(X, y).mean())
    losses = {}
    for chosen in sorted(set(feature.values())):
        permuted = 0.0
        for leaf, label in tree.labels.items():
            stays, passes = np.ones(len(y), bool), np.ones(len(y), bool)
            for node, child in topology.path(leaf):
                rows = passes if feature[node] == chosen else stays
                rows &= right[node] if child % 2 else ~right[node]
            wrong_here = stays & (y != label) & (tree.class_of(label) >= 0)
            permuted += float(passes.mean()) * float(wrong_here.mean())
        losses[chosen] = permuted - wrong
    return losses


def model_reliance(found: NearOptimalTrees, most: int = RELIANCE_TREES) -> tuple[FeatureUse, ...]:
    """Smallest and largest loss over all good trees when a feature is permuted, by raw feature.

    With up to `most` trees all are looked at; of more, the best tree and `most` uniform draws are,
    and the smallest loss of a feature that some tree of the set does without is known to be at
    most 0.  A loss can be below 0 where a tree does better on permuted rows by chance.
    """
    groups, context = found.encoding.groups, found.prepared.problem.context
    is_exact = found.count <= most
    trees: Iterable[Tree] = found.walk()
    if not is_exact:
        trees = (*islice(found.walk(), 1), *found.sample(most))
    losses = [tree_reliance(tree, context.X, context.y, groups) for tree in trees]
    uses = []
    for f, name in enumerate(found.encoding.raw_features):
        seen, n_trees = [own.get(f, 0.0) for own in losses], found.features[name]
        low, high = min(seen, default=0.0), max(seen, default=0.0)
        if not is_exact and n_trees < found.count:
            low = min(low, 0.0)
        here = is_exact or n_trees == 0
        uses.append(FeatureUse(name, n_trees, found.roots[name], low, high, here))
    return tuple(uses)


@dataclass(frozen=True)
class Alternative:
    """One near-optimal tree and what it is worth."""

    tree: Tree
    objective: float
    loss: float
    """`objective`, `loss`: by routing the training rows, and its distance from the optimum."""
    accuracy: float | None
    test_accuracy: float | None
    """Share right of the training and of the held-out rows that get a class; None where none is."""
    features: tuple[str, ...]  # raw features tested, in the order of the data
    recalls: tuple[float | None, ...]
    """Share of the training rows of every class that get their class; None where there are none."""
    parity_gap: float | None = None
    """Largest difference of the shares of positive predictions between groups."""


@dataclass(frozen=True, eq=False)
class Alternatives(Record):
    """The near-optimal trees of one question."""

    optimum: float
    searched: float
    tolerance: float
    """`optimum`, `searched`, `tolerance`: proven optimum; distance that was searched; distance of
    the trees described here."""
    leaf_penalty: float
    count: int  # trees that meet the conditions; exact
    steps: tuple[tuple[float, int, int], ...]
    """Distance, leaves and trees of all trees searched, whatever the conditions."""
    features: tuple[FeatureUse, ...]  # in the order of the data
    trees: tuple[Alternative, ...]  # the best of them, at most `LISTED`
    smallest: Alternative | None  # the best of those with fewest leaves
    disagreement: np.ndarray
    """Share of the trees that give a training row another class than most, ``(n_train,)``."""
    favourite: np.ndarray  # class that most trees give a row, ``(n_train,)``
    encoding: Encoding
    same_columns: Mapping[str, tuple[str, ...]]  # columns that part all rows alike
    seconds: float
    statements: tuple[str, ...] = ()  # as those of `NearOptimalTrees`

    @property
    def total(self) -> int:
        """Number of trees within the distance, whatever the conditions."""
        return sum(n for loss, _, n in self.steps if loss <= self.tolerance + ROUNDING)


def alternatives(
    found: NearOptimalTrees,
    with_features: Sequence[str] = (),
    without_features: Sequence[str] = (),
    max_leaves: int | None = None,
    tolerance: float | None = None,
    attribute: str | None = None,
    gain: bool = False,
    listed: int = LISTED,
) -> Alternatives:
    """Describe the near-optimal trees that meet some conditions.

    `with_features`, `without_features`, `max_leaves`, `tolerance`, `gain`: as in
        `NearOptimalTrees.restrict`.
    `attribute`: raw column of the groups whose positive predictions are compared.
    """
    narrow = found.restrict(with_features, without_features, max_leaves, tolerance, gain)
    judge = _judge(found, attribute)
    shares = narrow.class_shares()
    smallest = narrow.smallest()
    same = ("optimum", "leaf_penalty", "encoding", "same_columns", "seconds")
    return Alternatives(
        **{name: getattr(found, name) for name in same},
        searched=found.tolerance,
        tolerance=narrow.tolerance,
        count=narrow.count,
        steps=found.by_tolerance,
        features=model_reliance(narrow),
        trees=tuple(judge(tree) for tree in islice(narrow.walk(), listed)),
        smallest=None if smallest is None else judge(smallest),
        disagreement=1.0 - shares.max(axis=1) if narrow.count else np.zeros(len(shares)),
        favourite=shares.argmax(axis=1),
        statements=narrow.statements,
    )


@dataclass(frozen=True)
class ShapeLine:
    """One shape of the near-optimal trees, in words."""

    words: str
    trees: int
    loss: float
    leaves: int
    accuracy: float | None
    """`loss`, `leaves`, `accuracy`: of its best tree, with its distance from the optimum."""
    thresholds: tuple[str, ...]  # by column and place: the thresholds that its trees have


def shape_lines(found: NearOptimalTrees) -> tuple[int, tuple[ShapeLine, ...]]:
    """Number of shapes of a set, and its best ones with their thresholds."""
    shapes, context = found.shapes(), found.prepared.problem.context
    lines = [
        ShapeLine(
            shape.words,
            shape.count,
            max(0.0, found.optimum - shape.objective),
            shape.leaves,
            finite(metrics.accuracy(shape.tree, context.X, context.y)),
            tuple(part.words(found.encoding) for part in shape.ranges),
        )
        for shape in shapes[:LISTED_SHAPES]
    ]
    return len(shapes), tuple(lines)


def _judge(found: NearOptimalTrees, attribute: str | None) -> Callable[[Tree], Alternative]:
    """What says of a tree what it is worth on the training and the held-out rows."""
    context, train, test = found.prepared.problem.context, found.prepared.train, found.prepared.test
    X_test, groups = None, list[np.ndarray]()
    if test is not None and test.y is not None:
        X_test = found.encoding.transform(test.frame)
    if attribute is not None:
        values = train.frame[attribute].to_numpy()
        groups = [values == value for value in np.unique(values)]

    def judge(tree: Tree) -> Alternative:
        tree = metrics.tidied(tree, context.X)
        predicted = tree.predict_codes(context.X)
        hit = predicted == context.y
        objective = found.objective(tree)
        held = None
        if X_test is not None and test is not None:
            held = finite(metrics.accuracy(tree, X_test, test.codes))
        loss = found.optimum - objective
        rates = [float((predicted[rows] == context.positive_class).mean()) for rows in groups]
        of_class = [hit[context.y == k] for k in range(len(context.classes))]
        return Alternative(
            tree,
            objective,
            loss if loss > ROUNDING else 0.0,
            finite(metrics.accuracy(tree, context.X, context.y)),
            held,
            found.encoding.tested(tree.used_features),
            tuple(float(own.mean()) if len(own) else None for own in of_class),
            max(rates) - min(rates) if rates else None,
        )

    return judge
