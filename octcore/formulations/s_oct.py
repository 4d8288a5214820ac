"""S-OCT: optimal trees of hyperplanes by shattering inequalities.

Boutilier, Michini and Zhou, "Shattering Inequalities for Learning Optimal Decision Trees".  The
model routes points freely through a perfect tree and maximises what the leaves classify correctly;
that every split is a hyperplane is said either by big-M rows or, lazily, by inequalities about few
points that no hyperplane can divide.

=====  ===========================================================================
i      distinct points, identical rows merged; k a class; h = (i, k) with weight v_h
B, L   branch nodes 1 .. 2^D - 1 and leaves 2^D .. 2^(D+1) - 1
w_it   point i visits node t (w_i1 = 1); binary at leaves only
z_ht   leaf t classifies h correctly; c_tk: leaf t predicts class k
d_t    node t splits; only where splits are counted
=====  ===========================================================================

Equation numbers are the paper's.  (1a) to (1l) are the routing model, and (1m) says that every
split is a plane: by the big-M rows (5) and (6) with the constants (7), or by the shattering
inequalities (13), which are found as (17) from a point of the dual of (16).

What differs from the paper: (1b) stands at the root, which is the same by (1c); every plane must
leave a gap of epsilon, in the big-M rows and in the inequalities alike, where (16) leaves the scale
of the plane free, so that all variants have one optimum; lazy variants look for inequalities at
all nodes, those with big-M rows too; what is found at one node is used at all of them, mirrored
too; rows along a line, which meets every leaf in one interval, give rows of the model and a bound
on all trees (`separation/chains.py`); initial cuts are found with the big-M rows present; cuts for
the solver's own tree ("user") are run as root rounds, because the solver takes none.
"""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any

import numpy as np
import pyomo.environ as pyo

from octcore.formulations.base import FormulationInfo, Reference, TeachingText, formulation
from octcore.formulations.shared import oblique
from octcore.formulations.shared import tree_model as equations
from octcore.formulations.shared.separation.chains import ChainBound, chain_bound
from octcore.formulations.shared.separation.shattering import ShatteringSeparator, table_columns
from octcore.formulations.shared.tree_model import TreeSets, linear, paired
from octcore.parameters import Choice, Flag, FloatRange
from octcore.program import (
    Capability,
    Child,
    ModelSize,
    Patience,
    Point,
    Problem,
    Program,
    PyomoModel,
    Sense,
)
from octcore.tree import topology
from octcore.tree.tree import Tree
from octcore.warmstart.points import IntArray, centred_planes, leaf_counts, leaf_labels, tree_leaves

CORRECT_ROWS = "correctly classified rows"
CHAINS_PROVE = (
    "rows along lines, whose classes change more often than leaves do, bound all trees",
)
FRACTIONAL = 1e-6  # up to which solvers take a number for whole
NODE_SETS = ("root", "last", "all")
CUT_COUNTS = (1, 5, 10, 50, 100)
CUT_NAMES = (
    "baseline",
    "init-1",
    "init-5",
    *(f"benders-{nodes}-{k}" for nodes in NODE_SETS for k in CUT_COUNTS),
    *(f"user-{nodes}-{k}" for nodes in NODE_SETS for k in CUT_COUNTS),
)


def _objective(params: Mapping[str, Any]) -> tuple[Sense, str]:
    """Sense and words: (1a) without a price of splits, the one of section 2.2 with one."""
    if not float(params.get("alpha") or 0.0) > 0:
        return Sense.MAXIMISE, CORRECT_ROWS
    return Sense.MINIMISE, "share of errors + alpha x splits"


INFO = FormulationInfo(
    key="s-oct",
    place=110,
    has_side_margins=True,
    title="S-OCT",
    summary="Every split is a hyperplane. The model routes points freely and cuts off what no "
    "hyperplane can do, so it needs neither weights nor big-M constants where it uses cuts.",
    reference=Reference(
        "Boutilier, J. J., Michini, C. and Zhou, Z.",
        2022,
        "Shattering inequalities for learning optimal decision trees",
        "CPAIOR 2022, Lecture Notes in Computer Science 13292",
        "10.1007/978-3-031-08011-1_7",
    ),
    split_kind="oblique",
    hyperparameters=(
        Choice(
            "cuts",
            "benders-last-10",
            help="How hyperplanes enter: big-M rows (baseline), these and cuts before the search "
            "(init, user), or lazy cuts (benders) of the root, last or all levels, so many a time.",
            options=CUT_NAMES,
        ),
        oblique.EPSILON,
        FloatRange(
            "alpha",
            0.0,
            "α",
            "Price of a split in accuracy; 0 maximises the correct rows.",
            low=0.0,
            high=1.0,
        ),
        Flag(
            "symmetry_breaking",
            default=True,
            help="Exclude trees that differ only by exchanged subtrees.",
            advanced=True,
        ),
        # Of 1,000 rows the first node of the branch and cut takes longer than many starts.
        replace(oblique.START_SECONDS, default=6.0),
    ),
    constraints=frozenset({"max_leaves", "max_splits", "class_weight"}),
    capabilities=(Capability.SEPARATION, Capability.LINEAR),
    objective=f"{CORRECT_ROWS}; with alpha > 0 minimise share of errors + alpha x splits",
    objective_with=_objective,
    max_depth=6,
    has_margins=True,
    equations=(
        (r"\max \sum_{h,t} v_h z_{ht}", "weight of the points classified correctly"),
        (r"w_{it} = w_{i,2t} + w_{i,2t+1}", "a point goes left or right"),
        (r"z_{ht} \le w_{it},\quad z_{ht} \le c_{tk}", "right leaf, right label"),
        (
            r"\sum_{i \in I_-} w_{i,2t} + \sum_{i \in I_+} w_{i,2t+1} \le |I| - 1",
            "no hyperplane divides these points like this",
        ),
    ),
    teaching=TeachingText(
        "S-OCT",
        "Routes the points freely and forbids only what no straight line can do: small sets of "
        "points that cannot be divided as the routing wants.",
        "Slanted lines, for the fewest errors. Where the lines lie exactly is decided afterwards, "
        "in the middle of the free strip. Explore shows the sets it had to forbid.",
    ),
    good_at="Proves on small sets that no tree of hyperplanes does better, and shows the few "
    "points that forbid it.",
)


@formulation(INFO)
def build(problem: Problem) -> Program:
    """Make the S-OCT program of a problem."""
    params = problem.params
    objective = oblique.CountObjective(problem, params["alpha"], params["epsilon"])
    variant = Variant.named(params["cuts"], problem.depth)
    starts = oblique.Starts(objective)
    model = SOct(problem, objective, variant, starts)

    return Program(
        sense=objective.sense,
        capabilities=(Capability.SEPARATION if variant.is_lazy else Capability.LINEAR,),
        evaluate=objective.evaluate,
        size=model.size,
        build=model.build,
        granularity=objective.granularity,
        span=1.0 if objective.alpha else objective.points.total,
        starts=lambda patience: starts.trees(params["start_seconds"], patience),
        bound=objective.bound,
        claims=(
            f"among trees whose node gaps reach epsilon {objective.epsilon:g} "
            "(weights of 1-norm 1, columns in [0, 1])",
            *variant.claims,
        ),
        describe=lambda tree: ({}, objective.describe(tree)),
    )


@dataclass(frozen=True, eq=False)
class SOct:
    """Sets and builders of the model."""

    problem: Problem
    objective: oblique.CountObjective
    variant: "Variant"
    starts: oblique.Starts

    @cached_property
    def sets(self) -> TreeSets:
        """Points, K, B and L."""
        columns = list(range(self.problem.n_features))
        return TreeSets(self.objective.points, columns, self.problem.depth, self.problem.n_classes)

    @property
    def visited(self) -> range:
        """Nodes with routing variables: all but the root, which everybody visits."""
        return range(2, 2 ** (self.problem.depth + 1))

    @cached_property
    def hits(self) -> list[tuple[int, int]]:
        """Pairs (point, class) with weight."""
        return [(int(i), int(k)) for i, k in np.argwhere(self.objective.points.counts > 0)]

    @property
    def counts_splits(self) -> bool:
        """Whether the number of splits matters."""
        return self.objective.alpha > 0 or self.objective.max_splits < len(self.sets.B)

    @property
    def size(self) -> ModelSize:
        """Estimate from the counts of points and nodes."""
        sets = self.sets
        n, p, h = len(self.objective.points), self.problem.n_features, len(self.hits)
        branch, leaves, planes = len(sets.B), len(sets.L), len(self.variant.big_m_nodes)
        splits = n * branch if self.counts_splits else 0
        nonzeros = 3 * n * branch + (4 * h + len(sets.K)) * leaves + 2 * splits
        return ModelSize(
            rows=n * branch + 2 * h * leaves + leaves + planes * (2 * n + 2 * p + 1) + splits,
            columns=n * len(self.visited) + (h + len(sets.K)) * leaves + planes * (2 * p + 1),
            binaries=n * leaves,
            nonzeros=nonzeros + planes * (2 * n * (p + 2) + 5 * p),
        )

    def build(self, guard: Callable[[], None]) -> PyomoModel:
        """Build variables, numbered equations and the objective."""
        model: Any = pyo.ConcreteModel("S-OCT")
        self._variables(model)
        self._constraints(model, guard)
        self._objective(model)
        points, variant, gap = self.objective.points, self.variant, self.objective.epsilon
        routed = table_columns(model.w, len(points), self.visited)
        # Lazily cuts are looked for everywhere, first where they are required.
        others = variant.big_m_nodes if variant.is_lazy else ()
        asked = (*variant.nodes, *others), oblique.modelled(gap), variant.n_cuts
        rounds = None if variant.is_lazy else oblique.ROUNDS
        separator = ShatteringSeparator(points.X, routed, *asked, rounds=rounds)
        chains = self._chains(model, guard)
        fractional = model.c, model.w, len(points), self.sets.L, separator.tension
        return PyomoModel.of(
            model,
            self,
            separators=(separator,) if variant.nodes else (),
            branching=LabelsThenRouting(*fractional),
            rounding=SearchRounding(self.starts, partial(self.leaves, model)),
            values={"chains": self._described(chains)} if chains else {},
            bound=self.objective.best_with(chains.correct) if chains else None,
            claims=CHAINS_PROVE if chains else (),
        )

    def _variables(self, model: Any) -> None:
        sets = self.sets
        points, hits = sets.I, range(len(self.hits))
        model.w = pyo.Var(
            points,
            self.visited,
            domain=lambda _, i, t: pyo.Binary if t in sets.L else pyo.UnitInterval,
            doc="w_it: point i visits node t",
        )
        model.z = pyo.Var(
            hits, sets.L, domain=pyo.UnitInterval, doc="z_ht: leaf t classifies h correctly"
        )
        model.c = pyo.Var(
            sets.L, sets.K, domain=pyo.UnitInterval, doc="c_tk: leaf t predicts class k"
        )
        if self.counts_splits:
            model.d = pyo.Var(sets.B, domain=pyo.UnitInterval, doc="d_t: node t splits")

    def _constraints(self, model: Any, guard: Callable[[], None]) -> None:
        sets = self.sets
        points, hits = sets.I, range(len(self.hits))
        w, z, c = model.w, model.z, model.c

        @model.Constraint(points, sets.B, doc="(1b), (1c) w_it = w_i,2t + w_i,2t+1, w_i1 = 1")
        def routing(_: Any, i: int, t: int) -> Any:
            if t == 1:
                guard()
                return 1.0, linear((1.0, 1.0), (w[i, 2], w[i, 3])), 1.0
            return 0.0, linear((1.0, -1.0, -1.0), (w[i, t], w[i, 2 * t], w[i, 2 * t + 1])), 0.0

        equations.add_one_label(model, sets, c, doc="(1d) a leaf predicts one class")

        @model.Constraint(hits, sets.L, doc="(1e) z_ht <= w_it")
        def correct_if_there(_, h, t):
            return None, linear((1.0, -1.0), (z[h, t], w[self.hits[h][0], t])), 0.0

        @model.Constraint(hits, sets.L, doc="(1f) z_ht <= c_tk")
        def correct_if_label(_, h, t):
            return None, linear((1.0, -1.0), (z[h, t], c[t, self.hits[h][1]])), 0.0

        if self.counts_splits:
            self._splits(model)
        if self.variant.big_m_nodes:
            X, gap = self.objective.points.X, oblique.modelled(self.objective.epsilon)
            ways = (lambda i, t: w[i, 2 * t]), (lambda i, t: w[i, 2 * t + 1])
            oblique.add_big_m(model, self.variant.big_m_nodes, X, gap, *ways, guard)
        if self.problem.params["symmetry_breaking"]:
            self._symmetry(model)

    def _splits(self, model: Any) -> None:
        sets = self.sets
        points, w, d = sets.I, model.w, model.d

        @model.Constraint(points, sets.B, doc="(1g) without a split everything goes left")
        def right_needs_split(_, i, t):
            return None, linear((1.0, -1.0), (w[i, 2 * t + 1], d[t])), 0.0

        model.split_limit = pyo.Constraint(
            rule=lambda _: pyo.quicksum(d[t] for t in sets.B) <= self.objective.max_splits,
            doc="(1h) at most beta splits",
        )
        doc = "(ours) no split below an unsplit node: the subtree could move up"
        equations.add_split_below_split(model, sets, d, doc)

    def _symmetry(self, model: Any) -> None:
        """Order sibling leaves by label, and fix the side of the first point above them."""
        if self.problem.depth > 1:
            model.first_point_left = pyo.Constraint(
                expr=model.w[0, 2] == 1, doc="(ours) the first point goes left at the root"
            )
        pairs = oblique.sibling_leaves(self.problem.depth)
        doc = "(ours) of two sibling leaves the left one has the smaller label"

        @model.Constraint(range(len(pairs)), doc=doc)
        def label_order(m, r):
            a, b = pairs[r]
            return pyo.quicksum(k * (m.c[a, k] - m.c[b, k]) for k in self.sets.K) <= 0

    def _chains(self, model: Any, guard: Callable[[], None]) -> ChainBound | None:
        """Add the chains of rows along lines that bound every tree, where cuts are used at all."""
        if not self.variant.nodes:
            return None
        points, leaves = self.objective.points, self.objective.max_splits + 1
        found = chain_bound(points.X, points.counts, leaves, self.objective.epsilon, guard)
        hit = {pair: h for h, pair in enumerate(self.hits)}
        members = [[hit[pair] for pair in chain.members] for chain in found.chains]

        @model.Constraint(range(len(members)), doc="(ours) a line meets every leaf in one interval")
        def chain(m, r):
            right = pyo.quicksum(m.z[h, t] for h in members[r] for t in self.sets.L)
            return right <= found.chains[r].most_right(leaves)

        return found if found.chains else None

    def _described(self, found: ChainBound) -> list[dict[str, Any]]:
        """Chains by training rows, so that others can check them."""
        row_of = np.flatnonzero(self.problem.weights > 0)[self.objective.points.first_rows]
        return [
            {
                "rows": row_of[list(chain.points)].tolist(),
                "classes": list(chain.classes),
                "multiplier": chain.multiplier,
            }
            for chain in found.chains
        ]

    def _objective(self, model: Any) -> None:
        counts, hits = self.objective.points.counts, enumerate(self.hits)
        right = [(float(counts[hit]), model.z[h, t]) for h, hit in hits for t in self.sets.L]
        if self.objective.sense is Sense.MAXIMISE:
            expr, sense = paired(*right), pyo.maximize
            doc = "(1a) weight of the points classified correctly"
        else:
            total = self.objective.points.total
            price = ((self.objective.alpha, model.d[t]) for t in self.sets.B)
            expr = 1.0 + paired(*((-weight / total, z) for weight, z in right), *price)
            sense, doc = pyo.minimize, "(section 2.2) share of errors plus alpha per split"
        model.objective = pyo.Objective(expr=expr, sense=sense, doc=doc)

    def leaves(self, model: Any, point: Point) -> IntArray:
        """Leaf of every point, the largest value where it is fractional."""
        w = point.table(model.w, len(self.objective.points), len(self.visited))
        return w[:, self.sets.L.start - self.visited.start :].argmax(axis=1) + self.sets.L.start

    def read_tree(self, model: Any, point: Point) -> Tree:
        """Read the routing and give every node its widest gap; leaves get their majority."""
        return self.starts.tree_of(self.leaves(model, point))

    def start_values(self, model: Any, tree: Tree) -> list[tuple[Any, np.ndarray]]:
        """Values of all variables for a tree."""
        sets = self.sets
        points, depth = self.objective.points, self.problem.depth
        leaf = tree_leaves(tree, points.X, depth)
        labels = leaf_labels(leaf_counts(points, leaf, depth), depth)
        if self.problem.params["symmetry_breaking"]:
            leaf, labels = self._canonical(leaf, labels)
        w = oblique.leaf_table(leaf, depth)
        c = np.zeros((len(sets.L), len(sets.K)))
        c[np.arange(len(sets.L)), labels[sets.L.start :]] = 1.0
        at, label = np.array(self.hits).T
        z = w[at][:, sets.L.start - 1 :] * c[:, label].T
        values = [(model.w, w[:, 1:]), (model.c, c), (model.z, z)]
        if self.counts_splits:
            d = np.array([w[:, 2 * t].any() for t in sets.B], float)
            for t in reversed(sets.B[1:]):
                d[t // 2 - 1] = max(d[t // 2 - 1], d[t - 1])
            values.append((model.d, d))
        nodes = self.variant.big_m_nodes
        if nodes:
            planes, _ = centred_planes(points, leaf, depth)
            a, b = oblique.plane_values(planes, nodes, oblique.modelled(self.objective.epsilon))
            values += [(model.a, a), (model.a_size, np.abs(a)), (model.b, b)]
        return values

    def _canonical(self, leaf: IntArray, labels: IntArray) -> tuple[IntArray, IntArray]:
        """Exchange subtrees until the symmetry-breaking rows hold."""
        sets = self.sets
        depth, leaf, labels = self.problem.depth, leaf.copy(), labels.copy()
        if depth > 1 and leaf[0] >= 3 * 2 ** (depth - 1):
            flip = 2 ** (depth - 1)
            leaf ^= flip
            labels[sets.L.start :] = labels[np.arange(sets.L.start, sets.L.stop) ^ flip]
        for left, right in oblique.sibling_leaves(depth):
            if labels[left] > labels[right]:
                at_left, at_right = leaf == left, leaf == right
                if at_right.any():
                    leaf[at_left], leaf[at_right] = right, left
                    labels[[left, right]] = labels[[right, left]]
                else:  # no split here: the empty right leaf may predict anything
                    labels[right] = labels[left]
        return leaf, labels


@dataclass(frozen=True, eq=False)
class LabelsThenRouting:
    """Decide the labels of the leaves first, then the way of points, from the root down.

    Fixed labels are what makes the relaxation say anything: without them every point is correct by
    halves in two leaves.
    """

    labels: Any  # indexed by leaf and class
    routing: Any  # indexed by point and node, nodes 2 .. 2**(depth + 1) - 1
    n_points: int
    leaves: range
    tension: Callable[[Point], Mapping[int, np.ndarray]]
    """``point -> {node: (n_points,)}``: how much deciding a point at a branch node decides."""

    def __call__(self, point: Point, lower: np.ndarray, upper: np.ndarray) -> list[Child]:
        """Children of a node, the most likely first; none when nothing is fractional."""
        columns = point.columns.of(self.labels).reshape(len(self.leaves), -1)
        free = lower[columns].max(axis=1) < 0.5
        if free.any():
            # One child per class that the most undecided leaf may still have.
            values = np.where(free[:, None], point.x[columns], np.inf)
            here = columns[int(values.max(axis=1).argmin())]
            ranked = here[np.argsort(-point.x[here], kind="stable")]
            one = np.ones(1)
            return [(column, one, one) for column in ranked[upper[ranked] > 0.5][:, None]]
        return self._routing_children(point, lower, upper)

    def _routing_children(self, point: Point, lower: np.ndarray, upper: np.ndarray) -> list[Child]:
        columns = point.columns.of(self.routing).reshape(self.n_points, -1)
        fraction = np.minimum(point.x[columns], 1.0 - point.x[columns])
        tension = self.tension(point)
        worth = fraction * np.column_stack([tension[t // 2] for t in range(2, self.leaves.stop)])
        node = 2
        while node < self.leaves.stop:  # level by level
            level = fraction[:, node - 2 : 2 * node - 2]
            if level.max() > FRACTIONAL:
                decisive = worth[:, node - 2 : 2 * node - 2] * (level > 0.5 * level.max())
                i, t = np.unravel_index(int(decisive.argmax()), level.shape)
                column = columns[i, node - 2 + t]
                one = np.array([column])
                up = (one, np.ones(1), upper[one])
                down = (one, lower[one], np.zeros(1))
                return [up, down] if point.x[column] > 0.5 else [down, up]
            node *= 2
        return []


class SearchRounding:
    """Primal heuristic: the search of the starts goes on, fed by points of the relaxation.

    `leaves`: leaf of every data point at a point of the relaxation.
    """

    SHARE = 0.5  # share of the time since the first call that the heuristic may take
    SLICE_SECONDS, LONGEST_SECONDS = 0.3, 3.0
    """Time of one call: what its share allows, but between these."""

    def __init__(self, starts: oblique.Starts, leaves: Callable[[Point], IntArray]) -> None:
        self.starts, self.leaves = starts, leaves
        self._first: float | None = None
        self._spent, self._is_rounding = 0.0, False
        self._seen: set[bytes] = set()

    def __call__(self, point: Point, patience: Patience) -> Tree | None:
        """Return a new best tree, or None."""
        now = time.perf_counter()
        self._first = now if self._first is None else self._first
        allowed = self.SHARE * (now - self._first) + 0.1 - self._spent
        if allowed < 0:
            return None
        search, leaf = self.starts, self.leaves(point)
        search.heed(patience)
        share = min(max(allowed, self.SLICE_SECONDS), self.LONGEST_SECONDS)
        deadline = now + patience.within(share)
        better, key = False, leaf.tobytes()
        # By turns: points of the relaxation come without end, and restarts find what they do not.
        self._is_rounding = not self._is_rounding
        if self._is_rounding and key not in self._seen:
            self._seen.add(key)
            better = search.improve(leaf, deadline)
        while not better and not search.is_perfect and time.perf_counter() < deadline:
            better = search.restart(deadline)
        self._spent += time.perf_counter() - now
        return search.best_tree() if better else None


@dataclass(frozen=True)
class Variant:
    """How the model says that splits are hyperplanes."""

    kind: str  # one of "baseline", "init", "benders" or "user"
    nodes: tuple[int, ...]  # branch nodes that are examined for cuts
    n_cuts: int  # most cuts per node and round
    depth: int

    @classmethod
    def named(cls, name: str, depth: int) -> "Variant":
        """Read a name such as "benders-last-10"."""
        kind, *rest = name.split("-")
        branch = topology.branch_nodes(depth)
        nodes = {
            "root": (1,),
            "last": tuple(t for t in branch if t >= 2 ** (depth - 1)),
            "all": tuple(branch),
        }
        if kind == "baseline":
            return cls(kind, (), 0, depth)
        if kind == "init":
            return cls(kind, nodes["all"], int(rest[0]), depth)
        return cls(kind, nodes[rest[0]], int(rest[1]), depth)

    @property
    def is_lazy(self) -> bool:
        """Whether some nodes have no big-M rows."""
        return self.kind == "benders"

    @property
    def big_m_nodes(self) -> list[int]:
        """Branch nodes with a plane in the model."""
        lazy = self.nodes if self.is_lazy else ()
        return [t for t in topology.branch_nodes(self.depth) if t not in lazy]

    @property
    def claims(self) -> tuple[str, ...]:
        """What the certificate must say about the way it was solved."""
        words = "cuts were added in rounds at the root; inside the tree the big-M rows stand alone"
        return (words,) if self.kind == "user" else ()
