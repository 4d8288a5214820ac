"""BinOCT: thresholds found by binary search, so that the model hardly grows with the rows.

Verwer and Zhang.  Every branch node splits (a balanced tree without regulariser); its threshold is
an index into the sorted candidates of its column, written in bits.

=======  ============================================================================
I        training rows, identical ones merged with weights
J        columns with at least one candidate threshold
T_j      candidates of column j: middles between neighbouring values, also of one class: rows of a
         class that are right on different sides may have to be parted between two others
K, L     classes; terminal nodes 2^D .. 2^(D+1) - 1
f, t, z  f_mj: node m tests column j; t_mk: bit k of its threshold index, the most significant
         first; z_it: row i ends at terminal t
h, e     h_qk: terminal q predicts k; e_qk: weight of class k that is wrong at q
=======  ============================================================================

Indices beyond the last candidate of a column mean its last candidate.  A prefix of bits says for
blocks of rows on which side they must go, and every big-M is the number of rows of its block.
Written from general knowledge of the paper and checked by enumeration; splits that separate no
rows are dropped from the tree that is shown.
"""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np
import pyomo.environ as pyo

from octcore.formulations.base import FormulationInfo, Reference, TeachingText, formulation
from octcore.formulations.shared import constraint_kinds, terminals
from octcore.formulations.shared import side_constraints as side
from octcore.formulations.shared import tree_model as equations
from octcore.formulations.shared.tree_model import MergedRows, TreeSets, linear
from octcore.formulations.shared.univariate import weight_unit
from octcore.program import ModelSize, Point, Problem, Program, PyomoModel, Sense
from octcore.tree import topology
from octcore.tree.tree import Split, Tree
from octcore.warmstart.amending import first_trees

INFO = FormulationInfo(
    key="bin-oct",
    place=100,
    title="BinOCT",
    summary="Minimises the errors of a balanced tree; thresholds are found by binary search in "
    "bits, so that the number of rows of the model depends on the values, not on the data rows.",
    reference=Reference(
        "Verwer, S., Zhang, Y.",
        2019,
        "Learning optimal classification trees using a binary linear program formulation",
        "AAAI 33, 1625-1632",
        "10.1609/aaai.v33i01.33011624",
    ),
    hyperparameters=(),
    constraints=constraint_kinds.ALL - {"max_leaves", "max_splits", "feature_once_per_path"},
    has_costs=True,
    sense=Sense.MINIMISE,
    objective="misclassified rows",
    equations=(
        (r"\min \sum_{q,k} e_{qk}", "misclassified rows"),
        (r"e_{qk} \ge N_{qk} - n_k h_{qk}", "rows of a class that the terminal does not predict"),
        (
            r"\sum_{i \in U} z_{i,left} \le |U| (1 - f_{mj} + \sum_{u<k: v_u=0} t_{mu} + t_{mk})",
            "the values of block U lie above the threshold when its bits are 0",
        ),
    ),
    teaching=TeachingText(
        "BinOCT",
        "Writes the choice of a threshold in binary digits: a few variables for many thresholds, "
        "and inequalities that count the points between them.",
        "No price for leaves: a full tree, without the splits that would part no points.",
    ),
    good_at="A small model for many rows; its relaxation is very weak, so that proofs come late.",
)


@dataclass(frozen=True, eq=False)
class Block:
    """Rows that must leave one side of a node for a column and a prefix of threshold bits."""

    column: int
    members: np.ndarray
    leaves_left: bool  # whether they go right (so none may be left), else left
    zero_bits: tuple[int, ...] = ()
    one_bits: tuple[int, ...] = ()
    """`zero_bits`, `one_bits`: bits that must be 0, and 1, for the block to matter."""


@formulation(INFO)
def build(problem: Problem) -> Program:
    """Make the BinOCT program of a problem."""
    model = BinOCT(problem)
    return Program(
        sense=Sense.MINIMISE,
        evaluate=model.evaluate,
        size=model.size,
        build=model.build,
        shift=-problem.surplus,
        granularity=weight_unit(problem.weights),
        span=float(problem.weights.sum()),
        starts=partial(first_trees, problem, 0.0),
        bound=terminals.fewest_errors(problem),
        feasibility=terminals.weight_tolerance(problem),
    )


@dataclass(frozen=True, eq=False)
class BinOCT:
    """Sets and builders of the model."""

    problem: Problem

    @cached_property
    def rows(self) -> MergedRows:
        """I: merged rows."""
        return terminals.all_rows(self.problem)

    @cached_property
    def thresholds(self) -> dict[int, np.ndarray]:
        """T_j: sorted candidates by column; columns without any are left out."""
        if self.problem.constraints.max_features == 0:
            return {}
        found = {j: self._candidates(j) for j in side.allowed_columns(self.problem)}
        return {j: values for j, values in found.items() if len(values)}

    def _candidates(self, j: int) -> np.ndarray:
        values = np.unique(self.rows.X[:, j].astype(np.float64))
        middles = values[:-1] + np.diff(values) / 2
        if self.problem.constraints.min_samples_leaf is not None:  # idle splits, too
            middles = np.append(middles, values[-1])
        return middles

    @cached_property
    def sets(self) -> TreeSets:
        """I: all rows; J: columns with a candidate."""
        problem = self.problem
        return TreeSets(self.rows, list(self.thresholds), problem.depth, problem.n_classes)

    @cached_property
    def bits(self) -> range:
        """Bits of a threshold index, the most significant first."""
        longest = max((len(values) for values in self.thresholds.values()), default=1)
        return range(max(1, math.ceil(math.log2(longest))))

    @property
    def size(self) -> ModelSize:
        """Estimate from the blocks."""
        sets, bits = self.sets, len(self.bits)
        n, classes, leaves, branch = len(sets.I), len(sets.K), len(sets.L), len(sets.B)
        per_depth = leaves // 2 * sets.depth  # terminals below one side, over all nodes
        held = [stop - start for j in self.thresholds for *_, start, stop in self._ranges(j)]
        blocks, members = (int(sum(map(op, held))) for op in (np.count_nonzero, np.sum))
        splits, tests = branch * (len(sets.columns) + bits), blocks * branch
        return ModelSize(
            rows=tests + n + leaves * (classes + 1) + branch,
            columns=n * leaves + splits + 2 * leaves * classes,
            binaries=splits + leaves * classes,
            nonzeros=members * per_depth + tests * (1 + bits) + leaves * (2 * n + 3 * classes),
        )

    def _ranges(self, j: int) -> Iterator[tuple[int, bool, np.ndarray, np.ndarray]]:
        """Blocks of one column as ranges of its rows in order, by bit and side.

        Those of bit k come by the prefix of bits before it; those of bit -1 lie beyond the outer
        candidates.
        """
        x, candidates = self.rows.X[:, j].astype(np.float64), self.thresholds[j]
        ends = np.searchsorted(np.sort(x), candidates, side="right")
        yield -1, True, ends[-1:], np.array([len(x)])
        yield -1, False, np.array([0]), ends[:1]
        n_bits = len(self.bits)
        ends = np.append(ends, np.repeat(ends[-1], 2**n_bits - len(ends)))
        for k in self.bits:
            half = 2 ** (n_bits - k - 1)
            base = np.arange(0, len(candidates), 2 * half)
            yield k, True, ends[base + half - 1], ends[base + 2 * half - 1]
            yield k, False, ends[base], ends[base + half]

    def _blocks_of(self, j: int) -> Iterator[Block]:
        """Blocks of one column that are not empty."""
        order = np.argsort(self.rows.X[:, j].astype(np.float64), kind="stable")
        for k, leaves_left, starts, stops in self._ranges(j):
            for prefix in np.flatnonzero(stops > starts).tolist():
                digits = [(prefix >> (k - 1 - u)) & 1 for u in range(k)]
                bits = tuple(u for u in range(k) if digits[u] != leaves_left)
                bits += () if k < 0 else (k,)
                members = order[starts[prefix] : stops[prefix]]
                zeros, ones = (bits, ()) if leaves_left else ((), bits)
                yield Block(j, members, leaves_left, zeros, ones)

    def evaluate(self, tree: Tree) -> float | None:
        """Weight misclassified, by routing; None for a tree that breaks a side constraint."""
        return terminals.tree_errors(self.problem, tree) if self.problem.admits(tree) else None

    def build(self, guard: Callable[[], None]) -> PyomoModel:
        """Build variables, equations and the objective."""
        model: Any = pyo.ConcreteModel("BinOCT")
        self._variables(model)
        self._structure(model)
        self._routing(model, guard)
        self._side_constraints(model, guard)
        errors = terminals.weight_scale(self.problem) * pyo.quicksum(model.e.values())
        model.objective = pyo.Objective(expr=errors, sense=pyo.minimize, doc="misclassified rows")
        return PyomoModel.of(model, self)

    def _variables(self, model: Any) -> None:
        I, B, L, K, J = self.sets.I, self.sets.B, self.sets.L, self.sets.K, self.sets.columns
        model.f = pyo.Var(B, J, domain=pyo.Binary, doc="f_mj: node m tests column j")
        model.t = pyo.Var(B, self.bits, domain=pyo.Binary, doc="t_mk: bit k of the index")
        model.z = pyo.Var(I, L, bounds=(0, 1), doc="z_iq: row i ends at terminal q")
        model.h = pyo.Var(L, K, domain=pyo.Binary, doc="h_qk: terminal q predicts k")
        model.e = pyo.Var(L, K, domain=pyo.NonNegativeReals, doc="e_qk: weight wrong at q")

    def _structure(self, model: Any) -> None:
        rows, sets, J = self.rows, self.sets, self.sets.columns
        unit = terminals.weight_scale(self.problem)

        @model.Constraint(sets.B if J else [], doc="sum_j f_mj = 1")
        def one_column(_, m):
            return pyo.quicksum(model.f[m, j] for j in J) == 1

        model.no_column = pyo.Constraint(
            [] if J else sets.I,
            rule=lambda _, i: model.z[i, sets.L[-1]] == 1,
            doc="without columns that separate rows all rows stay together",
        )
        equations.add_one_terminal(model, sets, model.z, doc="sum_q z_iq = 1")
        equations.add_one_label(model, sets, model.h, doc="sum_k h_qk = 1")

        @model.Constraint(sets.L, sets.K, doc="e_qk >= N_qk - n_k h_qk")
        def misclassified(_, q, k):
            of_class = np.flatnonzero(rows.y == k)
            weights = [float(rows.weights[i]) / unit for i in of_class]
            variables = [model.e[q, k], *(model.z[i, q] for i in of_class), model.h[q, k]]
            return 0.0, linear([1.0, *(-w for w in weights), sum(weights)], variables), None

    def _routing(self, model: Any, guard: Callable[[], None]) -> None:
        doc = "rows of a block leave the side that the prefix of threshold bits denies them"
        blocks: list[Block] = []
        for j in self.thresholds:
            guard()
            blocks += self._blocks_of(j)

        @model.Constraint(self.sets.B, range(len(blocks)), doc=doc)
        def follows_threshold(_, m, r):
            guard()
            block = blocks[r]
            below = self.sets.terminals_below(m, 0 if block.leaves_left else 1)
            gone = [model.z[int(i), q] for i in block.members for q in below]
            big_m = float(len(block.members))  # the rows of the block are all that can be there
            zeros = [model.t[m, u] for u in block.zero_bits]
            ones = [model.t[m, u] for u in block.one_bits]
            coefficients = [1.0] * len(gone) + [big_m] + [-big_m] * len(zeros) + [big_m] * len(ones)
            variables = [*gone, model.f[m, block.column], *zeros, *ones]
            return None, linear(coefficients, variables), big_m * (1 + len(ones))

    def _side_constraints(self, model: Any, guard: Callable[[], None]) -> None:
        problem, rows, sets = self.problem, self.rows, self.sets
        wanted = problem.constraints
        side.add_structural_rows(model, problem, model.f, sets.columns)
        terminals.add_prediction_rows(model, problem, rows, model.z, model.h, guard)
        if wanted.min_samples_leaf is None:
            return
        model.a = pyo.Var(sets.L, domain=pyo.Binary, doc="a_q: terminal q holds rows")
        terminals.add_leaf_size_rows(model, problem, rows, model.z, model.a)
        if wanted.root_feature is not None:

            @model.Constraint((0, 1), doc="a required root split keeps rows on both sides")
            def root_opens_leaves(_, s):
                return pyo.quicksum(model.a[q] for q in sets.terminals_below(1, s)) >= 1

    def read_tree(self, model: Any, point: Point) -> Tree:
        """Read columns and threshold indices; idle splits are dropped."""
        sets, place = self.sets, 2 ** np.arange(len(self.bits))[::-1]
        f = point.table(model.f, len(sets.B), len(sets.columns))
        bits = point.table(model.t, len(sets.B), len(self.bits)) > 0.5
        h = point.table(model.h, len(sets.L), len(sets.K))

        def threshold_of(m: int, j: int) -> float:
            candidates = self.thresholds[j]
            return float(candidates[min(int(bits[m - 1] @ place), len(candidates) - 1)])

        return terminals.read_tree(sets, self.problem, f, h, threshold_of)

    def start_values(self, model: Any, tree: Tree) -> list[tuple[Any, np.ndarray]]:
        """Values of all variables for a tree; below a leaf the first column is tested idly."""
        sets = self.sets
        padded = self._balanced(tree) if sets.columns else tree
        values = terminals.TerminalValues(padded, self.problem, sets)
        bits = np.zeros((len(sets.B), len(self.bits)))
        for m, split in padded.splits.items():
            index = int(np.argmin(np.abs(self.thresholds[split.features[0]] - split.threshold)))
            bits[m - 1] = [(index >> (len(self.bits) - 1 - k)) & 1 for k in self.bits]
        wrong = values.z * (1.0 - values.c.T[self.rows.y])
        rows, classes = self.rows, range(values.c.shape[1])
        by_class = [(rows.weights * (rows.y == k)) @ wrong for k in classes]
        start = [
            (model.f, sets.tests_of(padded)),
            (model.t, bits),
            (model.z, values.z),
            (model.h, values.labels),
            (model.e, np.stack(by_class, axis=1) / terminals.weight_scale(self.problem)),
            *values.of(model),
        ]
        if hasattr(model, "a"):
            start.append((model.a, values.held))
        return start

    def _balanced(self, tree: Tree) -> Tree:
        """The same predictions with a split at every branch node, on candidates only."""
        splits, labels = dict[int, Split](), dict[int, int]()
        spare = next((j for j in tree.used_features if j in self.thresholds), self.sets.columns[0])
        idle = Split.on_feature(spare, float(self.thresholds[spare][0]))
        for m in self.sets.N:
            owner = next((a for a in (*topology.ancestors(m), m) if a in tree.labels), None)
            if m in self.sets.L:
                labels[m] = tree.labels[owner if owner is not None else m]
            else:
                split = tree.splits[m] if owner is None else idle
                if (j := split.features[0]) not in self.thresholds:
                    split, j = idle, spare
                candidates = self.thresholds[j]
                nearest = int(np.argmin(np.abs(candidates - split.threshold)))
                splits[m] = Split.on_feature(j, float(candidates[nearest]))
        return Tree(splits, labels, tree.n_features, tree.n_classes)
