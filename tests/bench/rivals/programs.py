"""How each foreign program is asked our question, and how its tree is read back.

Checked against pystreed 1.4, pycontree 1.0.8, pydl8.5 0.1.8, odtlearn 1.1 (with mip 1.15) and
scikit-learn 1.9.  All of them run on one thread.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

PeerTree = int | tuple[int, "PeerTree", "PeerTree"] | tuple[int, "PeerTree", "PeerTree", float]
"""A class index, or (feature, subtree up to the threshold, subtree above, threshold or 0.5)."""
CBC_GAP = 1e-4
"""CBC stops at this relative gap and calls the tree optimal."""


@dataclass(frozen=True)
class Parity:
    """A largest difference of the shares of positive predictions between groups."""

    groups: np.ndarray
    """0/1 code of every row, shape ``(n,)``."""
    positive: int
    """Class index of the wanted prediction."""
    max_gap: float
    """Largest difference, in [0, 1]."""


@dataclass(frozen=True)
class Question:
    """Accuracy minus `leaf_penalty` x leaves, to be maximised."""

    X: np.ndarray
    y: np.ndarray
    """`X`, `y`: columns of 0 and 1, or of numbers, of shape ``(n, p)``; class indices of shape
    ``(n,)``."""
    depth: int
    leaf_penalty: float
    limit: float
    """Seconds."""
    parity: Parity | None = None

    @property
    def split_weight(self) -> float:
        """The w for which (1 - w) correct - w splits orders trees as our objective does."""
        price = len(self.y) * self.leaf_penalty
        return price / (1 + price)


@dataclass(frozen=True)
class Answer:
    """What a peer found."""

    tree: PeerTree | None
    """Its tree; None if it found none."""
    proven: bool = False
    bound: float | None = None
    """What it proves about our objective."""
    note: str = ""
    """What must be known to read the line."""


def route(tree: PeerTree, X: np.ndarray) -> np.ndarray:
    """Class index of every row, shape ``(n,)``."""
    if not isinstance(tree, tuple):
        return np.full(len(X), tree)
    feature, left, right = tree[:3]
    found = np.empty(len(X), dtype=int)
    goes_right = X[:, feature] > (tree[3] if len(tree) == 4 else 0.5)
    found[~goes_right] = route(left, X[~goes_right])
    found[goes_right] = route(right, X[goes_right])
    return found


def leaf_count(tree: PeerTree) -> int:
    """Return the number of leaves."""
    return leaf_count(tree[1]) + leaf_count(tree[2]) if isinstance(tree, tuple) else 1


def streed(question: Question) -> Answer:
    """STreeD, cost-complexity objective: its price per split on accuracy is our price per leaf."""
    from pystreed import STreeDClassifier  # pyright: ignore[reportMissingImports]

    model = STreeDClassifier(
        "cost-complex-accuracy",
        max_depth=question.depth,
        cost_complexity=question.leaf_penalty,
        time_limit=question.limit,
    )
    model.fit(question.X, question.y)
    if not model.is_fitted():
        return Answer(None)

    def read(node: Any) -> PeerTree:
        if node.is_leaf_node():
            return int(node.label)
        return int(node.feature), read(node.left_child), read(node.right_child)

    return Answer(read(model.get_tree()), bool(model.fit_result.is_optimal()))


def contree(question: Question) -> Answer:
    """ConTree, all thresholds of numeric columns; its price per split is our price per leaf."""
    from pycontree import ConTree  # pyright: ignore[reportMissingImports]

    model = ConTree(
        max_depth=question.depth,
        time_limit=question.limit,
        complexity_cost=question.leaf_penalty,
    )
    model.fit(question.X.astype(float), question.y)

    def read(node: Any) -> PeerTree:
        if node.is_leaf_node():
            return int(node.get_label())
        children = read(node.get_left()), read(node.get_right())
        return int(node.get_split_feature()), *children, float(node.get_split_threshold())

    # The public interface does not say whether the limit ended the search.
    return Answer(read(model.tree_), bool(model._config.is_within_time_limit()))


def dl85(question: Question) -> Answer:
    """DL8.5, which minimises errors alone.

    A price of leaves given as its error function does not help: it splits wherever the depth
    allows (0.6592 instead of 0.6764 on balance-scale at depth 3, called optimal), so with a price
    it proves the answer to another question.
    """
    from pydl85 import DL85Classifier  # pyright: ignore[reportMissingImports]

    model = DL85Classifier(max_depth=question.depth, time_limit=max(1, int(question.limit)))
    model.fit(question.X, question.y)
    if model.tree_ is None:
        return Answer(None)

    def read(node: dict[str, Any]) -> PeerTree:
        if "feat" not in node:
            return int(node["value"])
        return int(node["feat"]), read(node["right"]), read(node["left"])

    done = not model.timeout_
    if not question.leaf_penalty:
        return Answer(read(model.tree_), done)
    end = "proven" if done else "not proven"
    note = f"without the price of leaves, which it cannot express; {end} for accuracy alone"
    return Answer(read(model.tree_), note=note)


def flow_oct(question: Question) -> Answer:
    """ODTLearn's FlowOCT with CBC."""
    from odtlearn.flow_oct import FlowOCT  # pyright: ignore[reportMissingImports]

    return _odtlearn(FlowOCT(**_odtlearn_settings(question)), question)


def benders_oct(question: Question) -> Answer:
    """ODTLearn's BendersOCT with CBC and lazy cuts."""
    from odtlearn.flow_oct import BendersOCT  # pyright: ignore[reportMissingImports]

    return _odtlearn(BendersOCT(**_odtlearn_settings(question)), question)


def fair_oct(question: Question) -> Answer:
    """ODTLearn's FairOCT with CBC: statistical parity between two groups."""
    from odtlearn.fair_oct import FairSPOCT  # pyright: ignore[reportMissingImports]

    assert question.parity is not None
    model = FairSPOCT(
        **_odtlearn_settings(question),
        positive_class=question.parity.positive,
        fairness_bound=question.parity.max_gap,
    )
    groups = question.parity.groups.reshape(-1, 1)
    return _odtlearn(model, question, groups, np.zeros(len(question.y)))


def _odtlearn_settings(question: Question) -> dict[str, Any]:
    return {
        "solver": "cbc",
        "depth": question.depth,
        "_lambda": question.split_weight,
        "time_limit": max(1, int(question.limit)),
        "num_threads": 1,
    }


def _odtlearn(model: Any, question: Question, *groups: np.ndarray) -> Answer:
    try:
        model.fit(question.X, question.y, *groups)
    except TypeError:  # it reads the values of variables that no solution has
        if model.num_solutions:
            raise
        return Answer(None)

    def read(node: int) -> PeerTree:
        if model.p_value[node] > 0.5:
            return int(max(classes, key=lambda k: model.w_value[node, k]))
        feature = max(range(question.X.shape[1]), key=lambda f: model.b_value[node, f"X_{f}"])
        return feature, read(2 * node), read(2 * node + 1)

    if not model.num_solutions or any(value is None for value in model.p_value.values()):
        return Answer(None)
    classes = [int(k) for k in np.unique(question.y)]
    correct = model.objective_bound / (len(question.y) * (1 - question.split_weight))
    return Answer(read(1), model.optim_gap <= CBC_GAP, correct - question.leaf_penalty)


def cart(question: Question) -> Answer:
    """scikit-learn's greedy trees, pruned by the same price."""
    from sklearn.tree import DecisionTreeClassifier

    model = DecisionTreeClassifier(
        max_depth=question.depth, ccp_alpha=question.leaf_penalty, random_state=0
    )
    grown = model.fit(question.X, question.y).tree_

    def read(node: int) -> PeerTree:
        if grown.children_left[node] < 0:
            return int(model.classes_[np.argmax(grown.value[node][0])])
        children = grown.children_left[node], grown.children_right[node]
        return int(grown.feature[node]), read(int(children[0])), read(int(children[1]))

    return Answer(read(0), note="a heuristic that prices Gini impurity, not errors")
