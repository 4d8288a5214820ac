"""The mixed-integer program of MM-SVM-OCT, with convex rows for the norms."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pyomo.environ as pyo

from octcore.formulations.mm_svm_oct.trees import MMSVMTrees
from octcore.formulations.shared.rows import linear, score_terms
from octcore.formulations.shared.tree_equations import add_within
from octcore.program import BigM, ModelSize, Point, PyomoModel
from octcore.tree import topology
from octcore.tree.tree import Tree, grown


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
        return PyomoModel(model, partial(self.read_tree, model), partial(self.start_values, model))

    def _variables(self, model: Any, big_m: float, box: float) -> None:
        (n, p), upper = self.judge.rows.X.shape, self.judge.upper
        reach = big_m + box * float(np.abs(self.judge.rows.X).sum(axis=1).max())
        model.w = pyo.Var(self.T, range(p), bounds=(-box, box), doc="w_tj")
        model.b = pyo.Var(self.T, bounds=(-reach, reach), doc="b_t: offset of plane t")
        model.e = pyo.Var(range(n), self.T, bounds=(0, 2 * big_m), doc="e_it: slack of i at t")
        model.z = pyo.Var(range(n), self.inner, domain=pyo.Binary, doc="z_it: i passes t")
        model.th = pyo.Var(range(n), upper, domain=pyo.Binary, doc="th_it: i goes right at t")
        model.d = pyo.Var(self.T, domain=pyo.Binary, doc="d_t: node t has a plane")
        model.delta = pyo.Var(bounds=(0, p * box**2 / 2), doc="delta: half the largest ||w||^2")
        if self.relabels:
            model.r = pyo.Var(range(n), self.T, domain=pyo.Binary, doc="r_it: label of i flipped")

    def _planes(self, model: Any, box: float) -> None:
        features = range(self.judge.rows.X.shape[1])
        model.norm = pyo.Constraint(
            self.T,
            rule=lambda _, t: (
                pyo.quicksum(0.5 * model.w[t, j] ** 2 for j in features) - model.delta <= 0
            ),
            doc="1/2 ||w_t||^2 <= delta",
        )
        docs = "w_tj <= M_w d_t", "w_tj >= -M_w d_t"
        add_within(model, "plane", model.w, lambda t, j: box * model.d[t], docs)
        model.plane_below_plane = pyo.Constraint(
            self.inner, rule=lambda _, t: model.d[t] <= model.d[t // 2], doc="d_t <= d_parent"
        )

    def _margins(self, model: Any, guard: Callable[[], None], big_m: float) -> None:
        n = len(self.judge.rows)

        def margin(i: int, t: int, sign: float, flip: float) -> Any:
            """Slack row of a label; it holds where i passes t and (flip) its label is as said."""
            guard()
            values, variables = score_terms(model, self.judge.rows.X[i], t, sign)
            low = 1.0
            values, variables = [*values, 1.0], [*variables, model.e[i, t]]
            if t > 1:
                values, variables, low = [*values, -big_m], [*variables, model.z[i, t]], low - big_m
            if self.relabels:
                values, variables = [*values, flip * big_m], [*variables, model.r[i, t]]
                low -= big_m if flip < 0 else 0.0
            return low, linear(values, variables), None

        model.margin = pyo.Constraint(
            range(n),
            self.T,
            rule=lambda _, i, t: margin(i, t, float(self.judge.rows.signs[i]), 1.0),
            doc="y_i s_it >= 1 - e_it - M (1 - z_it) - M r_it",
        )
        if self.relabels:
            model.flipped = pyo.Constraint(
                range(n),
                self.T,
                rule=lambda _, i, t: margin(i, t, -float(self.judge.rows.signs[i]), -1.0),
                doc="-y_i s_it >= 1 - e_it - M (1 - z_it) - M (1 - r_it)",
            )

    def _routing(self, model: Any, guard: Callable[[], None], big_m: float) -> None:
        n = len(self.judge.rows)
        epsilon = self.judge.price("epsilon")
        upper, levels = self.judge.upper, range(1, self.judge.problem.depth)

        def right(_: Any, i: int, t: int) -> Any:
            guard()
            values, variables = score_terms(model, self.judge.rows.X[i], t)
            return -big_m, linear([*values, -big_m], [*variables, model.th[i, t]]), None

        def left(_: Any, i: int, t: int) -> Any:
            """The strip binds rows that pass t only: s <= M th - eps (1 - th) + eps (1 - z)."""
            values, variables = score_terms(model, self.judge.rows.X[i], t)
            values, variables = [*values, -big_m - epsilon], [*variables, model.th[i, t]]
            if t == 1:
                return None, linear(values, variables), -epsilon
            return None, linear([*values, epsilon], [*variables, model.z[i, t]]), 0.0

        def turned(_: Any, i: int, t: int) -> Any:
            """Passing the parent and going this way means passing t."""
            parent, goes_right = t // 2, t % 2 == 1
            values = [-1.0, -1.0 if not goes_right else 1.0]
            variables = [model.z[i, t], model.th[i, parent]]
            high = 0.0 if not goes_right else 1.0
            if parent == 1:
                return None, linear(values, variables), high - 1.0
            return None, linear([*values, 1.0], [*variables, model.z[i, parent]]), high

        model.go_right = pyo.Constraint(range(n), upper, rule=right, doc="s >= -M (1-th)")
        model.go_left = pyo.Constraint(range(n), upper, rule=left, doc="s <= M th")
        model.one_per_level = pyo.Constraint(
            range(n),
            levels,
            rule=lambda _, i, k: (
                pyo.quicksum(model.z[i, t] for t in range(2**k, 2 ** (k + 1))) == 1
            ),
            doc="a row passes one node of every level",
        )
        model.below_parent = pyo.Constraint(
            range(n),
            [t for t in self.inner if t > 3],
            rule=lambda _, i, t: model.z[i, t] <= model.z[i, t // 2],
            doc="z_it <= z_i,parent",
        )
        model.turned = pyo.Constraint(
            range(n), self.inner, rule=turned, doc="z_i,parent - z_it <= th or 1 - th"
        )

    def _objective(self, model: Any) -> None:
        weights = [float(w) for w in self.judge.rows.weights]
        price = self.judge.price
        terms = pyo.quicksum(
            price("c1") * w * model.e[i, t] for i, w in enumerate(weights) for t in self.T
        )
        if self.relabels:
            terms += pyo.quicksum(
                price("c2") * w * model.r[i, t] for i, w in enumerate(weights) for t in self.T
            )
        planes = pyo.quicksum(price("c3") * model.d[t] for t in self.T)
        model.objective = pyo.Objective(
            expr=model.delta + terms + planes,
            sense=pyo.minimize,
            doc="delta + c1 x slacks + c2 x flipped labels + c3 x planes",
        )

    def read_tree(self, model: Any, point: Point) -> Tree:
        """Read the planes; a node without one becomes a leaf on the side of its offset."""
        p = self.judge.rows.X.shape[1]
        w = point.table(model.w, len(self.T), p)
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
            way = right[:, t // 2 - 1] == (t % 2 == 1)
            passes[:, t - 1] = passes[:, t // 2 - 1] * way
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
