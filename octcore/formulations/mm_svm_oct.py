"""MM-SVM-OCT: support vector machines at all branch nodes, the narrowest margin as wide as it goes.

=====  ===============================================================
T      branch nodes 1 .. 2^D - 1; nobody is a leaf above the last level
w, b   plane of a node: right when w_t.x + b_t >= 0
e, r   slack of a row at a node that it passes; its label is flipped there
z, th  row passes a node; goes right at a node above the last level
d      node has a plane at all
delta  half the largest squared norm: the smallest margin is 1 / sqrt(2 delta)
=====  ===============================================================

The leaves are signs of the last level: left is the first class (-1), right the second (+1).  The
primary paper was not at hand; the model is restated from a public write-up.  What differs: products
of labels and planes are two rows with a big-M; a strip of width epsilon below 0 holds no row that
passes an upper node; directions are needed above the last level only; the norms are bounded by
tangents, so that linear solvers do.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyomo.environ as pyo

from octcore.errors import CancelledError
from octcore.formulations.base import FormulationInfo, Reference, TeachingText, formulation
from octcore.formulations.shared import oblique
from octcore.formulations.shared.tree_model import add_within, linear, score
from octcore.formulations.shared.two_classes import EPSILON, GAP, STRIP_TOLERANCE, TwoClassTrees
from octcore.numerics import kernels
from octcore.numerics.node_qp import plane as node_qp
from octcore.parameters import Flag, FloatRange
from octcore.program import (
    ENDLESS,
    BigM,
    Capability,
    ModelSize,
    Patience,
    Point,
    Problem,
    Program,
    PyomoModel,
    Sense,
)
from octcore.search.margot.records import RoutingProblem
from octcore.search.margot.start import local_svm
from octcore.tree import topology
from octcore.tree.tree import Tree, grown, tree_from_planes
from octcore.warmstart.goal import TreeGoal
from octcore.warmstart.plane_search import improve_plane, shift_into_gap
from octcore.warmstart.points import count_classes
from octcore.warmstart.svm_tree import TreeSearch

POLISH_SECONDS, BALANCE_ROUNDS = 1.0, 12  # effort only: for one tree
RECENTRE_SECONDS = 0.25
"""Longest time for the picture, after the search: an instant for a thousand rows."""
LEAST_SHARE = 1e-3  # smallest share of a node in the norm term; its margin hardly matters any more

Planes = dict[int, tuple[np.ndarray, float]]

INFO = FormulationInfo(
    key="mm-svm-oct",
    place=170,
    title="MM-SVM-OCT",
    summary="A tree of support vector machines whose narrowest margin is as wide as possible; rows "
    "may be relabelled at a price.",
    reference=Reference(
        "Blanco, V., Japón, A. and Puerto, J.",
        2022,
        "Robust optimal classification trees under noisy labels",
        "Advances in Data Analysis and Classification 16, 155-179",
        "10.1007/s11634-021-00467-2",
    ),
    split_kind="oblique",
    hyperparameters=(
        FloatRange("c1", 10.0, "c₁", "Price of slack at a node.", low=0.0, high=1e6, log=True),
        FloatRange(
            "c2", 5.0, "c₂", "Price of a label flipped at a node.", low=0.0, high=1e6, log=True
        ),
        FloatRange("c3", 0.1, "c₃", "Price of a plane.", low=0.0, high=1e6, log=True),
        Flag(
            "relabel",
            False,
            help="Let rows change their label at a node at price c2; small prices relabel a whole "
            "class and split nothing.",
        ),
        EPSILON,
        FloatRange(
            "big_m",
            60.0,
            "M",
            "Least bound on scores in the model; it is raised where trees worth having need more.",
            low=2.0,
            high=1e5,
            advanced=True,
        ),
        oblique.START_SECONDS,
    ),
    constraints=frozenset({"class_weight"}),
    capabilities=(Capability.CONVEX_QUADRATIC,),
    sense=Sense.MINIMISE,
    objective="half the largest squared norm + c1 x slacks + c2 x relabelled + c3 x planes",
    max_classes=2,
    max_depth=4,
    has_margins=True,
    equations=(
        (
            r"\min \delta + c_1 \sum_{i,t} e_{it} + c_2 \sum_{i,t} r_{it} + c_3 \sum_t d_t",
            "widest smallest margin, few slacks, few flipped labels, few planes",
        ),
        (r"\tfrac12 \lVert w_t \rVert^2 \le \delta", "the narrowest margin counts"),
        (
            r"(1 - 2 r_{it}) y_i (w_t^\top x_i + b_t) \ge 1 - e_{it} - M (1 - z_{it})",
            "rows that pass a node lie on the side of their (possibly flipped) label",
        ),
        (r"d_t \le d_{p(t)}", "no plane below a node without one"),
    ),
    teaching=TeachingText(
        "MM-SVM-OCT",
        "Two classes, and a support vector machine at every split: the narrowest of all margins is "
        "to be as wide as possible. A point pays at every line whose margin it does not keep, and "
        "may take the other label at a price.",
        "One width decides, not the sum as in MARGOT: no band is narrower than that.",
    ),
    good_at="Contrast with MARGOT: one narrowest margin instead of the sum; rows pay at every "
    "level, so prices grow with the depth.",
)


@formulation(INFO)
def build(problem: Problem) -> Program:
    """Make the MM-SVM-OCT program of a problem; the run's values hold the re-centred tree."""
    judge = MMSVMTrees(problem)
    model = MMSVMModel(judge)
    # One class, or no column: no plane tells rows apart and a single leaf is the optimum.
    is_decided = problem.n_features == 0 or len(np.unique(problem.y)) < 2
    leaf = problem.majority_leaf if is_decided else None
    return Program(
        sense=Sense.MINIMISE,
        evaluate=judge.evaluate,
        size=model.size,
        build=lambda guard: model.build(guard, model.big_m.asked),
        big_m=model.big_m,
        starts=judge.starts if leaf is None else lambda _: iter(()),
        improve=judge.improve,
        tolerance=GAP,
        bound=0.0 if leaf is None else judge.evaluate(leaf),
        claims=judge.claims,
        describe=lambda tree: ({"recentred": judge.recentred(tree).to_dict()}, ()),
    )


@dataclass(frozen=True, eq=False)
class MMSVMTrees(TwoClassTrees):
    """Rows and prices of a problem, and the trees that fit them.

    A leaf above the last level stands for nodes without planes: all rows go to the side of its
    label, and those of the other class pay at every level that is left.
    """

    @property
    def claims(self) -> tuple[str, ...]:
        """What a proof covers."""
        relabel = "allowed" if self.problem.params["relabel"] else "off"
        return self.coding_claims(
            f"upper planes keep an empty strip of width {self.price('epsilon'):g}",
            f"relabelling is {relabel}",
        )

    def reach(self, objective: float) -> float:
        """Largest score of any row in a tree of at most this objective.

        Half the largest squared norm is part of the objective, and the offset of a plane can be
        such that some row that passes has a score of -1, 0 or 1 (-epsilon at most).
        """
        return 1.0 + float(np.sqrt(2.0 * objective)) * self.spread

    def node_cost(self, signs: np.ndarray, scores: np.ndarray) -> np.ndarray:
        """Slack and relabelling of every row at a node, before weights."""
        kept = self._slack(signs, scores)
        if not self.problem.params["relabel"]:
            return kept
        return np.minimum(kept, self.price("c2") + self._slack(-signs, scores))

    def _slack(self, signs: np.ndarray, scores: np.ndarray) -> np.ndarray:
        """Price of the slack of every row with such a label."""
        return self.price("c1") * np.maximum(0.0, 1.0 - signs * scores)

    def evaluate(self, tree: Tree) -> float | None:
        """Objective by routing all rows; None for a tree outside the model."""
        visited = tree.node_rows(self.X)
        weights, norm, total = self.problem.weights, 0.0, 0.0
        for node, split in tree.splits.items():
            w, here = split.dense(self.X.shape[1]), visited[node]
            scores = self.X[here] @ w + split.solved_offset
            if not self._is_allowed(tree, node, scores):
                return None
            norm = max(norm, float(w @ w) / 2)
            total += float(weights[here] @ self.node_cost(self.signs[here], scores))
            total += self.price("c3") * bool(split.weights)
        for leaf, label in tree.labels.items():
            is_last = topology.node_depth(leaf) == self.problem.depth
            if is_last and (leaf % 2 == 1) != (label == self.positive):
                return None  # a sign of the wrong side
            total += float(weights[visited[leaf]] @ self._below_leaf(leaf, label, visited[leaf]))
        return total + norm

    def _is_allowed(self, tree: Tree, node: int, scores: np.ndarray) -> bool:
        split = tree.splits[node]
        if topology.node_depth(node) >= self.problem.depth:
            return False
        if node > 1 and split.weights and not tree.splits[node // 2].weights:
            return False
        return node in self.last or self.is_strip_empty(scores)

    def _below_leaf(self, leaf: int, label: int, here: np.ndarray) -> np.ndarray:
        """Cost of every row at the nodes without planes below a leaf, before weights."""
        levels = self.problem.depth - topology.node_depth(leaf)
        sign = 1.0 if label == self.positive else -1.0
        return levels * self.node_cost(self.signs[here], np.full(len(here), sign))

    def tree(self, planes: Mapping[int, tuple[np.ndarray, float]], leaves: dict[int, int]) -> Tree:
        """Make the tree of planes; labels of leaves on the last level follow from their side."""
        first = 2**self.problem.depth
        labels = {
            leaf: (self.positive if leaf % 2 else 1 - self.positive) if leaf >= first else label
            for leaf, label in leaves.items()
        }
        return tree_from_planes(planes, labels, self.X, 2, True, STRIP_TOLERANCE)

    def improve(self, tree: Tree, patience: Patience) -> Tree:
        """Planes that are best for the routing, alternated with moving rows and pruning."""
        kernels.require(node_qp.KERNELS, stop=patience.cancel)
        stop = patience.capped(POLISH_SECONDS)
        best = oblique.least(self.evaluate, tree, self.refit(tree, patience))
        while not stop():
            before = self.evaluate(best)
            for node in sorted(best.splits, reverse=True):
                if node not in best.splits or stop():
                    continue
                pruned = (self.refit(best.collapse(node, label), stop) for label in (0, 1))
                best = oblique.least(self.evaluate, best, *pruned)
                if node in best.splits and node in self.upper:
                    if (moved := self._reassigned(best, node, stop)) is not None:
                        best = oblique.least(self.evaluate, best, moved)
            after = self.evaluate(best)
            if before is not None and after is not None and after >= before - 1e-9:
                break
        return best

    def refit(self, tree: Tree, stop: Patience) -> Tree:
        """Give every split the plane that is best for its rows and sides, with balanced norms.

        When `stop` says so, the tree is the best one until then.

        For fixed routing the largest squared norm is a maximum over weights (summing to 1) of the
        weighted sum, so nodes with narrow margins get more weight until the margins are level.
        """
        visited = tree.node_rows(self.X)
        splitting = [t for t in tree.splits if len(visited[t])]
        leaves = dict(tree.labels)
        share = {t: 1.0 / max(1, len(splitting)) for t in splitting}
        best, best_value = tree, self.evaluate(tree)
        for _ in range(BALANCE_ROUNDS):
            planes: Planes = {}
            for t in tree.splits:
                planes[t] = self._best_plane(tree, t, visited, share.get(t, 1.0), stop)
            found = self.tree(planes, leaves)
            value = self.evaluate(found)
            if value is not None and (best_value is None or value < best_value):
                best, best_value = found, value
            if stop():
                break
            norms = {t: max(1e-9, float(planes[t][0] @ planes[t][0])) for t in splitting}
            if len(norms) < 2 or max(norms.values()) <= min(norms.values()) * (1 + 1e-4):
                break
            share = {t: max(LEAST_SHARE, share[t] * norms[t] ** 0.5) for t in splitting}
            total = sum(share.values())
            share = {t: value / total for t, value in share.items()}
        return best

    def _best_plane(
        self, tree: Tree, node: int, visited: dict[int, np.ndarray], share: float, stop: Patience
    ) -> tuple[np.ndarray, float]:
        """Plane of a node for its present rows and sides."""
        here = visited[node]
        relabels = self.problem.params["relabel"]
        signs = self._flipped(tree, node, here) if relabels else self.signs[here]
        penalty = self.price("c1") * self.problem.weights[here] / share
        if len(here) and node in self.last and np.ptp(signs) == 0:
            return np.zeros(self.X.shape[1]), float(signs[0])
        if len(here) and not (penalty > 0).any():
            return tree.splits[node].dense(self.X.shape[1]), tree.splits[node].solved_offset
        epsilon = self.price("epsilon") * (1 + 1e-6)
        return self.node_plane(node, visited, signs, penalty, epsilon, stop)

    def _flipped(self, tree: Tree, node: int, here: np.ndarray) -> np.ndarray:
        """Labels at a node, flipped where the present plane makes that cheaper."""
        split, signs = tree.splits[node], self.signs[here]
        scores = split.project(self.X[here]) + split.solved_offset
        flip = self.price("c2") + self._slack(-signs, scores) < self._slack(signs, scores)
        return np.where(flip, -signs, signs)

    def _reassigned(self, tree: Tree, node: int, stop: Patience) -> Tree | None:
        """Move an upper plane to where rows are cheaper below it, then refit all planes."""
        here = tree.node_rows(self.X)[node]
        gains = self.problem.weights[here] * (
            self._path_cost(tree, 2 * node, here) - self._path_cost(tree, 2 * node + 1, here)
        )
        if not (gains > 0).any() or not (gains < 0).any():
            return None
        split, X = tree.splits[node], self.X[here]
        rng = np.random.default_rng(self.problem.seed)
        weights, _ = improve_plane(X, split.dense(X.shape[1]), split.solved_offset, gains, rng)
        size = float(np.abs(weights).sum())
        if size <= 0:
            return None
        offset, gain = shift_into_gap(X, weights / size, gains, self.price("epsilon"))
        if not np.isfinite(gain):
            return None
        planes = {t: (s.dense(X.shape[1]), s.solved_offset) for t, s in tree.splits.items()}
        planes[node] = weights / size, offset
        return self.refit(self.tree(planes, dict(tree.labels)), stop)

    def _path_cost(self, tree: Tree, node: int, here: np.ndarray) -> np.ndarray:
        """Cost of every row from a node on, before weights."""
        cost = np.zeros(len(here))
        for t, at in tree.node_rows(self.X[here], node).items():
            rows = here[at]
            if t in tree.labels:
                cost[at] += self._below_leaf(t, tree.labels[t], rows)
                continue
            split = tree.splits[t]
            scores = split.project(self.X[rows]) + split.solved_offset
            cost[at] += self.node_cost(self.signs[rows], scores)
        return cost

    def starts(self, patience: Patience) -> Iterator[tuple[str, Tree]]:
        """Yield single leaves, the local SVM tree, and accurate oblique trees, all polished."""
        shape = self.X.shape[1], 2
        for label in (1 - self.positive, self.positive):
            yield "warm start", Tree.leaf(label, *shape)
        if self.price("c1") == 0:
            return
        try:
            kernels.require(node_qp.KERNELS, stop=patience)
        except CancelledError:
            return
        depth, c1, epsilon = self.problem.depth, self.price("c1"), self.price("epsilon")
        rows = self.X, self.signs
        routing = RoutingProblem(*rows, depth, c1, c1, epsilon, self.problem.weights)
        found, _ = local_svm(routing, patience)
        planes = {t: (found.weights[t - 1], float(found.biases[t - 1])) for t in self.T}
        local = self.tree(planes, dict.fromkeys(topology.terminal_nodes(depth), 0))
        yield "local SVM", self.improve(local, patience)
        points = count_classes(self.X, self.problem.y, self.problem.weights, 2)
        goal = TreeGoal(points, depth, epsilon, seed=self.problem.seed)
        for source, tree in TreeSearch(goal).trees(self.price("start_seconds"), patience):
            yield source, self.improve(self.adopt(tree), patience)

    def adopt(self, tree: Tree) -> Tree:
        """Turn the splits of any tree so that the second class tends to the right."""
        visited = tree.node_rows(self.X)

        def part(node: int) -> int | tuple[tuple[np.ndarray, float], int, int]:
            if node in tree.labels:
                return tree.labels[node]
            split, (left, right) = tree.splits[node], topology.children(node)
            weights, offset = split.dense(self.X.shape[1]), -split.threshold
            signs = [self.signs[visited[child]] for child in (left, right)]
            share = [own.mean() if len(own) else 0.0 for own in signs]
            if share[0] > share[1]:
                weights, offset, left, right = -weights, -offset, right, left
            # the nearest row gets a score of 1 in absolute value
            nearest = float(np.abs(self.X[visited[node]] @ weights + offset).min(initial=np.inf))
            scale = 1.0 / nearest if 0 < nearest < np.inf else 1.0
            return (weights * scale, offset * scale), left, right

        return self.tree(*grown(1, part))

    def recentred(self, tree: Tree) -> Tree:
        """Same routing, every plane with its own widest margin: for pictures only.

        Planes other than the narrowest are free to lie anywhere within the largest norm; the
        objective that is reported stays that of the tree as solved.  A plane whose widest margin
        would send a row of its node elsewhere stays, and so do those for which time runs out.
        """
        visited, stop, planes = tree.node_rows(self.X), ENDLESS.capped(RECENTRE_SECONDS), {}
        for t, split in tree.splits.items():
            found = self._best_plane(tree, t, visited, 1.0, stop)
            own = split.dense(self.X.shape[1]), split.solved_offset
            planes[t] = own if stop() else found
        made, splits = self.tree(planes, dict(tree.labels)), dict(tree.splits)
        for node, own in tree.splits.items():
            rows = self.X[visited[node]]
            if (made.splits[node].goes_right(rows) == own.goes_right(rows)).all():
                splits[node] = made.splits[node]
        return replace(made, splits=splits)


@dataclass(frozen=True, eq=False)
class MMSVMModel:
    """Builders of the model; equal rows are merged with weights."""

    judge: MMSVMTrees

    @property
    def T(self) -> range:
        """Branch nodes."""
        return self.judge.T

    @property
    def inner(self) -> list[int]:
        """Branch nodes other than the root, which all rows pass."""
        return [t for t in self.T if t > 1]

    @property
    def relabels(self) -> bool:
        """Whether labels may be flipped."""
        return bool(self.judge.problem.params["relabel"])

    @property
    def size(self) -> ModelSize:
        """Counts of rows and columns before building."""
        n, p = self.judge.rows.X.shape
        nodes, upper = len(self.T), len(self.judge.upper)
        flips = nodes * n if self.relabels else 0
        return ModelSize(
            rows=nodes * n + flips + 2 * upper * n + 2 * (nodes - 1) * n + nodes * (2 * p + 2),
            columns=nodes * (p + 2 + n) + flips + (nodes - 1 + upper) * n + 1,
            binaries=(nodes - 1 + upper) * n + flips + nodes,
            nonzeros=(nodes + 2 * upper) * n * (p + 4) + flips * (p + 4) + 6 * nodes * n,
        )

    @property
    def big_m(self) -> BigM:
        """M of margins and directions; weights get the box that scores within it allow."""
        asked = self.judge.price("big_m")
        return BigM(asked, lambda objective: 1.0 + self.judge.reach(objective), self.build)

    def build(self, guard: Callable[[], None], big_m: float) -> PyomoModel:
        """Build variables, numbered equations and the objective."""
        model: Any = pyo.ConcreteModel("MM-SVM-OCT")
        box = self.judge.weight_box(big_m - 1.0)
        self._variables(model, big_m, box)
        self._planes(model, box)
        self._margins(model, guard, big_m)
        self._routing(model, guard, big_m)
        self._objective(model)
        return PyomoModel.of(model, self)

    def _variables(self, model: Any, big_m: float, box: float) -> None:
        (n, p), upper = self.judge.rows.X.shape, self.judge.upper
        reach = big_m + box * float(np.abs(self.judge.rows.X).sum(axis=1).max())
        model.w = pyo.Var(self.T, range(p), bounds=(-box, box), doc="w_tj")
        model.b = pyo.Var(self.T, bounds=(-reach, reach), doc="b_t: offset of plane t")
        # A slack is 1 and a score at most.
        model.e = pyo.Var(range(n), self.T, bounds=(0, 2 * big_m), doc="e_it: slack of i at t")
        model.z = pyo.Var(range(n), self.inner, domain=pyo.Binary, doc="z_it: i passes t")
        model.th = pyo.Var(range(n), upper, domain=pyo.Binary, doc="th_it: i goes right at t")
        model.d = pyo.Var(self.T, domain=pyo.Binary, doc="d_t: node t has a plane")
        model.delta = pyo.Var(bounds=(0, p * box**2 / 2), doc="delta: half the largest ||w||^2")
        if self.relabels:
            model.r = pyo.Var(range(n), self.T, domain=pyo.Binary, doc="r_it: label of i flipped")

    def _planes(self, model: Any, box: float) -> None:
        features = range(self.judge.rows.X.shape[1])

        @model.Constraint(self.T, doc="1/2 ||w_t||^2 <= delta")
        def norm(_, t):
            return pyo.quicksum(0.5 * model.w[t, j] ** 2 for j in features) - model.delta <= 0

        docs = "w_tj <= M_w d_t", "w_tj >= -M_w d_t"
        add_within(model, "plane", model.w, lambda t, j: box * model.d[t], docs)
        model.plane_below_plane = pyo.Constraint(
            self.inner, rule=lambda _, t: model.d[t] <= model.d[t // 2], doc="d_t <= d_parent"
        )

    def _margins(self, model: Any, guard: Callable[[], None], big_m: float) -> None:
        I, signs = range(len(self.judge.rows)), self.judge.rows.signs

        def slack(i: int, t: int, sign: float, flip: float) -> Any:
            """Slack row of a label; it holds where i passes t and (flip) its label is as said."""
            guard()
            low, more = 1.0, [(1.0, model.e[i, t])]
            if t > 1:
                more, low = [*more, (-big_m, model.z[i, t])], low - big_m
            if self.relabels:
                more.append((flip * big_m, model.r[i, t]))
                low -= big_m if flip < 0 else 0.0
            return low, score(model, self.judge.rows.X[i], t, *more, sign=sign), None

        @model.Constraint(I, self.T, doc="y_i s_it >= 1 - e_it - M (1 - z_it) - M r_it")
        def margin(_, i, t):
            return slack(i, t, float(signs[i]), 1.0)

        if self.relabels:
            doc = "-y_i s_it >= 1 - e_it - M (1 - z_it) - M (1 - r_it)"

            @model.Constraint(I, self.T, doc=doc)
            def flipped(_, i, t):
                return slack(i, t, -float(signs[i]), -1.0)

    def _routing(self, model: Any, guard: Callable[[], None], big_m: float) -> None:
        n = len(self.judge.rows)
        epsilon = self.judge.price("epsilon")
        upper, levels = self.judge.upper, range(1, self.judge.problem.depth)

        @model.Constraint(range(n), upper, doc="s >= -M (1-th)")
        def go_right(_: Any, i: int, t: int) -> Any:
            guard()
            return -big_m, score(model, self.judge.rows.X[i], t, (-big_m, model.th[i, t])), None

        @model.Constraint(range(n), upper, doc="s <= M th")
        def go_left(_: Any, i: int, t: int) -> Any:
            """The strip binds rows that pass t only: s <= M th - eps (1 - th) + eps (1 - z)."""
            right = -big_m - epsilon, model.th[i, t]
            if t == 1:
                return None, score(model, self.judge.rows.X[i], t, right), -epsilon
            passes = epsilon, model.z[i, t]
            return None, score(model, self.judge.rows.X[i], t, right, passes), 0.0

        @model.Constraint(range(n), levels, doc="a row passes one node of every level")
        def one_per_level(_, i, k):
            return pyo.quicksum(model.z[i, t] for t in range(2**k, 2 ** (k + 1))) == 1

        @model.Constraint(range(n), [t for t in self.inner if t > 3], doc="z_it <= z_i,parent")
        def below_parent(_, i, t):
            return model.z[i, t] <= model.z[i, t // 2]

        @model.Constraint(range(n), self.inner, doc="z_i,parent - z_it <= th or 1 - th")
        def turned(_: Any, i: int, t: int) -> Any:
            """Passing the parent and going this way means passing t."""
            parent, high = t // 2, float(t % 2)  # 1 on the right
            values, variables = [-1.0, 2 * high - 1], [model.z[i, t], model.th[i, parent]]
            if parent == 1:
                return None, linear(values, variables), high - 1.0
            return None, linear([*values, 1.0], [*variables, model.z[i, parent]]), high

    def _objective(self, model: Any) -> None:
        weights = [float(w) for w in self.judge.rows.weights]
        price = self.judge.price
        places = [(w, i, t) for i, w in enumerate(weights) for t in self.T]
        terms = pyo.quicksum(price("c1") * w * model.e[i, t] for w, i, t in places)
        if self.relabels:
            terms += pyo.quicksum(price("c2") * w * model.r[i, t] for w, i, t in places)
        planes = pyo.quicksum(price("c3") * model.d[t] for t in self.T)
        model.objective = pyo.Objective(
            expr=model.delta + terms + planes,
            sense=pyo.minimize,
            doc="delta + c1 x slacks + c2 x flipped labels + c3 x planes",
        )

    def read_tree(self, model: Any, point: Point) -> Tree:
        """Read the planes; a node without one becomes a leaf on the side of its offset."""
        w = point.table(model.w, len(self.T), self.judge.rows.X.shape[1])
        b, d = point.array(model.b), point.array(model.d)

        def part(t: int) -> int | tuple[tuple[np.ndarray, float], int, int]:
            if t not in self.T or d[t - 1] < 0.5 or not np.abs(w[t - 1]).max() > 1e-9:
                side = b[t - 1] >= 0 if t in self.T else t % 2 == 1
                return self.judge.positive if side else 1 - self.judge.positive
            return (w[t - 1].copy(), float(b[t - 1])), *topology.children(t)

        return self.judge.tree(*grown(1, part))

    def start_values(self, model: Any, tree: Tree) -> list[tuple[Any, np.ndarray]]:
        """Values of all variables for a tree."""
        judge, (n, p) = self.judge, self.judge.rows.X.shape
        w, b = np.zeros((len(self.T), p)), np.ones(len(self.T))
        sign = {leaf: 1.0 if k == judge.positive else -1.0 for leaf, k in tree.labels.items()}
        for t in self.T:
            if t in tree.splits:
                w[t - 1], b[t - 1] = tree.splits[t].dense(p), tree.splits[t].solved_offset
            else:
                leaf = next(a for a in (*topology.ancestors(t), t) if a in tree.labels)
                b[t - 1] = sign[leaf]
        scores = self.judge.rows.X @ w.T + b
        right = scores >= 0
        visited = tree.node_rows(self.judge.rows.X)
        for t, split in tree.splits.items():
            # the routing threshold lies between rows that pass; the others follow the plane itself
            here = visited[t]
            right[here, t - 1] = split.goes_right(self.judge.rows.X[here])
        passes = np.ones((n, len(self.T)))
        for t in self.inner:
            passes[:, t - 1] = passes[:, t // 2 - 1] * (right[:, t // 2 - 1] == (t % 2 == 1))
        signs = self.judge.rows.signs[:, None]
        slack = np.maximum(0.0, 1.0 - signs * scores) * passes
        flip = np.zeros_like(slack)
        if self.relabels:
            other = np.maximum(0.0, 1.0 + signs * scores) * passes
            flip = passes * (judge.price("c2") + judge.price("c1") * (other - slack) < 0)
            slack = np.where(flip > 0, other, slack)
        upper, inner = [t - 1 for t in self.judge.upper], [t - 1 for t in self.inner]
        values: list[tuple[Any, np.ndarray]] = [
            (model.w, w),
            (model.b, b),
            (model.e, slack),
            (model.z, passes[:, inner]),
            (model.th, right[:, upper].astype(float)),
            (model.d, w.any(axis=1).astype(float)),
            (model.delta, np.array([(w**2).sum(axis=1).max() / 2])),
        ]
        if self.relabels:
            values.append((model.r, flip))
        return values
