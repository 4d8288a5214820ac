"""The hand-over between formulations and engines.

A formulation turns a `Problem` into a `Program`: a lazily built Pyomo model, what it needs from an
engine, and how to read a tree out of a solution.  An engine consumes a `Program` and never learns
which formulation made it.  Which engine can do what is stated here alone (`ENGINES`): neither
formulations nor engines are imported, both sides look it up.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from fractions import Fraction
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from octcore.data.serial import Record
from octcore.data.tasks import Copies
from octcore.parameters import as_fraction
from octcore.tree.constraints import ConstraintContext, Constraints, violations
from octcore.tree.tree import Tree

if TYPE_CHECKING:
    # Searches work without Pyomo and SciPy, which take a second to import.
    import pyomo.environ as pyo
    from scipy.sparse import csr_matrix


class Capability(StrEnum):
    """What an engine must be able to do for a program."""

    LINEAR = "linear"  # solve the Pyomo model as it stands: a mixed-integer linear program
    SEPARATION = "separation"
    """Solve a mixed-integer linear program whose rows arrive from separators."""
    CONVEX_QUADRATIC = "convex-quadratic"
    """Solve the Pyomo model as it stands: convex quadratic objective, linear rows, integers."""
    PATH_SEARCH = "path-search"  # answer the question of the univariate family
    THRESHOLD_SEARCH = "threshold-search"
    """Answer the same question over all thresholds of numeric columns."""
    ROUTING_SEARCH = "routing-search"  # solve the typed search problem of the MARGOT family
    ASSIGNMENT_SEARCH = "assignment-search"  # solve the typed search problem of SVM1-ODT and OCT-H
    GREEDY = "greedy"  # take the program's own tree; nothing is proven


@dataclass(frozen=True)
class EngineEntry:
    """In which module of `octcore.engines` the function of its key is, and what it can do."""

    module: str
    supports: frozenset[Capability]


_LINEAR = frozenset({Capability.LINEAR})
_QUADRATIC = frozenset({Capability.LINEAR, Capability.CONVEX_QUADRATIC})

ENGINES = {
    "greedy": EngineEntry("base", frozenset({Capability.GREEDY})),
    "path-search": EngineEntry("univariate_search", frozenset({Capability.PATH_SEARCH})),
    "threshold-search": EngineEntry("univariate_search", frozenset({Capability.THRESHOLD_SEARCH})),
    "routing-search": EngineEntry("plane_search", frozenset({Capability.ROUTING_SEARCH})),
    "assignment-search": EngineEntry("plane_search", frozenset({Capability.ASSIGNMENT_SEARCH})),
    "branch-and-cut": EngineEntry("branch_and_cut.search", frozenset({Capability.SEPARATION})),
    "outer-approximation": EngineEntry(
        "outer_approximation", frozenset({Capability.CONVEX_QUADRATIC})
    ),
    "highs": EngineEntry("monolithic", _LINEAR),
    "scip": EngineEntry("pyomo_solver", _QUADRATIC),
    "gurobi": EngineEntry("pyomo_solver", _QUADRATIC),
}
"""All engines by key, in the order of preference: own searches, then free solvers, then others."""


def engines_for(capabilities: Iterable[Capability]) -> tuple[str, ...]:
    """Keys of the engines that solve programs with one of these capabilities, the best first."""
    wanted = frozenset(capabilities)
    return tuple(key for key, entry in ENGINES.items() if entry.supports & wanted)


@dataclass(frozen=True)
class Patience:
    """Whom first trees ask how long they may take; without arguments as long as they want."""

    left: Callable[[], float] = lambda: math.inf  # seconds until the time limit
    cancel: Callable[[], bool] = lambda: False

    def __call__(self) -> bool:
        """Whether to stop."""
        return self.left() <= 0 or self.cancel()

    def within(self, seconds: float) -> float:
        """So many seconds, or those that are left."""
        return min(seconds, self.left())

    def capped(self, seconds: float) -> Patience:
        """The same, but from now on no longer than so many seconds."""
        end = time.perf_counter() + seconds
        return Patience(lambda: min(self.left(), end - time.perf_counter()), self.cancel)


ENDLESS = Patience()


class Sense(StrEnum):
    """Direction of the objective."""

    MAXIMISE = "max"
    MINIMISE = "min"

    def better(self, a: float, b: float) -> bool:
        """Whether objective `a` is strictly better than `b`."""
        return a > b if self is Sense.MAXIMISE else a < b


ROUNDING = 1e-12  # share of the total weight up to which a difference of sums is none


@dataclass(frozen=True, eq=False)
class Problem:
    """Everything a formulation may look at; arrays are read-only."""

    X: np.ndarray
    """Encoded training rows, shape ``(n_samples, n_features)``; uint8 when all columns are binary,
    float64 otherwise."""
    y: np.ndarray  # class indices, shape ``(n_samples,)``
    weights: np.ndarray
    """Weight of every row in the accuracy term, shape ``(n_samples,)``; ones by default."""
    n_classes: int
    depth: int
    """`n_classes`, `depth`: number of answers that a leaf may give, the classes and perhaps asking
    a person; largest depth."""
    params: Mapping[str, Any]  # checked hyperparameters, every declared name present
    constraints: Constraints
    context: ConstraintContext
    categorical: tuple[tuple[int, ...], ...] = ()
    """Encoded columns of every one-hot encoded raw column with more than two levels."""
    seed: int = 0
    copies: Copies | None = None
    """Where answers have costs: `X`, `y` and `weights` are copies of the rows by answer; what they
    stand for.  None where every row stands for itself."""

    def __post_init__(self) -> None:
        for name in ("X", "y", "weights"):
            array = np.ascontiguousarray(getattr(self, name))
            array.setflags(write=False)
            object.__setattr__(self, name, array)

    @property
    def n_samples(self) -> int:
        """Number of training rows."""
        return len(self.y)

    @property
    def n_features(self) -> int:
        """Number of encoded columns."""
        return self.X.shape[1]

    @property
    def groups(self) -> np.ndarray:
        """Raw feature index of every encoded column."""
        return self.context.groups

    @property
    def forbidden_columns(self) -> np.ndarray:
        """Whether an encoded column belongs to a forbidden feature, shape ``(n_features,)``."""
        context = self.context
        banned = [context.raw_index(name) for name in self.constraints.forbidden_features]
        return np.isin(self.groups, banned)

    @property
    def root_columns(self) -> np.ndarray | None:
        """Whether the root may test a column, ``(n_features,)``; None where nothing is required."""
        name = self.constraints.root_feature
        return None if name is None else self.groups == self.context.raw_index(name)

    @cached_property
    def counts(self) -> np.ndarray:
        """Rows that every row stands for where leaves are counted, shape ``(n_samples,)``."""
        return np.ones(self.n_samples, np.int64) if self.copies is None else self.copies.count

    @cached_property
    def total_weight(self) -> float:
        """Weight of the training rows, without their copies."""
        return float(self.weights.sum()) if self.copies is None else self.copies.total

    @property
    def offset(self) -> float:
        """``total_weight - cost = weight of the rows that are right + offset``."""
        return 0.0 if self.copies is None else self.copies.offset

    @property
    def surplus(self) -> float:
        """``weight of the rows that are wrong = cost + surplus``."""
        return float(self.weights.sum()) - self.total_weight + self.offset

    @property
    def class_weights(self) -> np.ndarray:
        """Weight of the rows of every class, shape ``(n_classes,)``."""
        return np.bincount(self.y, self.weights, self.n_classes)

    @cached_property
    def majority_errors(self) -> float:
        """Cost of the best single answer, the majority (L-hat of OCT); 1 if it costs nothing."""
        shares = self.class_weights
        wrong = float(shares.sum() - shares.max()) - self.surplus
        return wrong if wrong > ROUNDING * self.weights.sum() else 1.0

    @property
    def majority_leaf(self) -> Tree:
        """The tree that predicts the class of largest weight."""
        return Tree.leaf(int(self.class_weights.argmax()), self.n_features, self.n_classes)

    def fraction(self, number: float) -> Fraction:
        """Read a price or a tolerance as the fraction that was meant, see `as_fraction`."""
        return as_fraction(number, max(len(self.context.y), self.total_weight))

    def admits(self, tree: Tree) -> bool:
        """Whether a tree keeps the depth and all side constraints."""
        if tree.max_depth > self.depth:
            return False
        return not (self.constraints.active and violations(self.constraints, tree, self.context))


@dataclass(frozen=True)
class ModelSize(Record):
    """Size of a model, estimated before or counted after it is built."""

    rows: int
    columns: int
    binaries: int
    nonzeros: int

    BYTES_PER_NONZERO = 400
    """Peak while Pyomo builds and compiles: 2.4 GB for 6.2 million non-zeros, measured."""

    @property
    def bytes(self) -> int:
        """Estimated peak memory in bytes."""
        return self.nonzeros * self.BYTES_PER_NONZERO + (self.rows + self.columns) * 1000


class Columns(Protocol):
    """Where the variables of a model stand in the compiled matrix."""

    n_columns: int

    def of(self, component: Any) -> np.ndarray:
        """Column of every member of an indexed variable, in index order; -1 if not in any row."""
        ...


@dataclass(frozen=True, eq=False)
class Point:
    """Values of the variables, as arrays by component."""

    columns: Columns
    x: np.ndarray

    def array(self, component: Any) -> np.ndarray:
        """Values of an indexed variable in index order; 0 for members in no row."""
        positions = self.columns.of(component)
        return np.where(positions >= 0, self.x[positions], 0.0)

    def table(self, component: Any, *shape: int) -> np.ndarray:
        """Values of an indexed variable reshaped to the sizes of its index sets."""
        return self.array(component).reshape(shape)


@dataclass(frozen=True, eq=False)
class Cuts:
    """Rows ``matrix @ x <= rhs`` found by a separator."""

    kind: str  # family of the inequality, for counts and pictures ("benders", "shattering", …)
    matrix: csr_matrix  # shape ``(n_cuts, n_columns)``
    rhs: np.ndarray  # shape ``(n_cuts,)``
    life: int | None = None  # number of LPs that a slack row survives; None to keep it for good
    pictures: tuple[Mapping[str, Any], ...] = ()
    """Plain data for teaching views of some of the cuts (rows, path, split set)."""


@dataclass(frozen=True, eq=False)
class SearchState:
    """What a separator may know about the node of the branch-and-cut tree."""

    is_root: bool
    is_integral: bool
    """`is_root`, `is_integral`: whether this is the root node; whether all binaries are integral at
    the point."""
    round: int  # number of separation rounds done at this node


class Separator(Protocol):
    """Finds inequalities that a point violates."""

    def separate(self, point: Point, state: SearchState) -> list[Cuts]:
        """Return violated inequalities; empty when there are none."""
        ...


Child = tuple[np.ndarray, np.ndarray, np.ndarray]
"""Columns and their new lower and upper bounds at a child of a branch-and-cut node."""


@dataclass(frozen=True, eq=False)
class PyomoModel:
    """A built model and the functions that belong to it."""

    model: pyo.ConcreteModel  # variables, numbered equations and one objective
    read_tree: Callable[[Point], Tree]
    """Solution values to a tree (labels and thresholds need not be final)."""
    start_values: Callable[[Tree], list[tuple[Any, np.ndarray]]]
    """Tree to values ``[(variable component, array in index order), …]`` for a warm start."""
    separators: tuple[Separator, ...] = ()  # for `Capability.SEPARATION`
    branching: Callable[[Point, np.ndarray, np.ndarray], Sequence[Child]] | None = None
    """``(point, lower, upper) -> children``, or None for the engine's default.  A child is
    ``(columns, lower, upper)``, the new bounds of some columns; together the children keep every
    solution of the node that matters.  No children: the point needs no branching."""
    rounding: Callable[[Point, Patience], Tree | None] | None = None
    """Makes a tree of any point of the relaxation, as a primal heuristic."""
    node_rows: Callable[[Columns, np.ndarray, np.ndarray], list[Cuts]] | None = None
    """``(columns, lower, upper) -> rows`` that are worth adding before the first relaxation of a
    node."""
    probing: Callable[[Columns, np.ndarray, np.ndarray, float], tuple[float, Child]] | None = None
    """``(columns, lower, upper, needed) -> (bound, child)``: a bound on the objective of all trees
    that the bounds of a node allow, and the bounds that every tree better than `needed` keeps."""
    starts: tuple[tuple[str, Tree], ...] = ()  # trees found while building, with their source
    values: Mapping[str, Any] = field(default_factory=dict)
    """Plain results found while building, such as the value of every root feature."""
    bound: float | None = None
    """A bound on the objective, in its own terms, that was proven while building."""
    claims: tuple[str, ...] = ()  # what the certificate says about it

    @classmethod
    def of(cls, model: pyo.ConcreteModel, maker: Any, **others: Any) -> PyomoModel:
        """A model whose `maker` reads its trees and writes their values."""
        reads = partial(maker.read_tree, model), partial(maker.start_values, model)
        return cls(model, *reads, **others)


@dataclass(frozen=True, eq=False)
class BigM:
    """The big-M constant of a model, as large as trees worth having can need.

    A constant that is too small forbids trees, and then the model's bound is none of the problem.
    So it is chosen when the model is built, from the best tree known, and a bound counts only
    while no tree at least as good as the incumbent can reach the constant.
    """

    asked: float  # constant of the settings, the least that is used
    needed: Callable[[float], float]
    """``needed(objective)``: least constant that forbids no tree of at most this objective."""
    build: Callable[[Callable[[], None], float], PyomoModel]
    """``build(guard, constant) -> PyomoModel``."""
    limit: float = 1e6  # largest constant; beyond it a solver's tolerances leave nothing to prove

    def choose(self, objective: float | None) -> float:
        """Constant to build with when the best tree has an objective (None: there is none)."""
        needed = self.limit if objective is None else self.needed(objective)
        return max(self.asked, min(needed, self.limit))

    def forbids(self, constant: float, objective: float | None) -> bool:
        """Whether a constant may forbid trees at least as good as an objective."""
        return objective is None or constant < self.needed(objective)


@dataclass(frozen=True)
class Listing:
    """Trees in the order of their cost, for side constraints that tie subtrees together."""

    make: Callable[[Fraction, Any], Any]
    """``make(tolerance, floors)``: instance of the trees within a tolerance of the optimum without
    them, but with `near_optimal.floors` at their price."""
    by_labels: bool
    by_columns: bool
    """`by_labels`, `by_columns`: whether they look at predictions, at which columns are tested."""
    sets: tuple[np.ndarray, ...] = ()
    """Where the set of tested columns is limited: the largest allowed sets, as masks of the columns
    that are left out; searched one after the other first, which is all unless more is asked for."""
    starts: Callable[[Sequence[Tree], Patience], Iterator[Tree]] = lambda trees, patience: iter(())
    """Trees that keep them, made of some that do not."""
    floors: Mapping[int, int] = field(default_factory=dict)  # rows that must be right, by class


@dataclass(frozen=True, eq=False)
class Program:
    """One formulation on one problem, ready for an engine."""

    sense: Sense
    evaluate: Callable[[Tree], float | None]
    """Objective of a tree in the paper's own terms, recomputed by routing all rows; None when the
    tree breaks a side constraint."""
    size: ModelSize | None = None  # estimate; None when there is no model
    build: Callable[[Callable[[], None]], PyomoModel] | None = None
    """``build(guard) -> PyomoModel``; `guard()` is called often and raises when the solve must
    stop."""
    big_m: BigM | None = None
    """Set where `build` has a big-M that could forbid trees; engines then build through it."""
    feasibility: float = 1e-6  # how closely a solver must keep the rows of the model
    scale: float = 1.0
    shift: float = 0.0  # `scale`, `shift`: ``objective = scale * (model objective) + shift``
    granularity: float = 0.0
    """Smallest positive difference of two objective values; 0 when there is none."""
    span: float = math.inf
    """Objective of the weight of all rows, of which closing leaves a share; infinite where the
    objective counts no rows."""
    tolerance: float = 0.0
    """Relative gap that counts as closed, for objectives that are only computed to some digits."""
    starts: Callable[[Patience], Iterator[tuple[str, Tree]]] = lambda _: iter(())
    """``starts(patience)`` yields ``(source, tree)`` from quick to slow, and what may take long
    asks how long; the engine evaluates them."""
    fallback: Callable[[Patience], Iterator[tuple[str, Tree]]] = lambda _: iter(())
    """As `starts`, for a search that begins without any and has ended before its proof."""
    improve: Callable[[Tree, Patience], Tree] | None = None
    """Polishes a tree read from the solver; its result counts only if it evaluates better."""
    search: Any = None  # typed search problem for the search capabilities
    listing: Listing | None = None
    """Where `evaluate` refuses trees that the search does not: how they are listed until one is
    accepted."""
    bound: float | None = None
    """A bound on the objective known before any search, with the reason in `claims`."""
    reach: float | None = None
    """What the number of leaves and of classes lets any tree reach; limits a bound left open."""
    claims: tuple[str, ...] = field(default=())
    """What a proof covers, in words: epsilon, big-M, subset, binarization."""
    describe: Callable[[Tree], tuple[Mapping[str, Any], tuple[str, ...]]] | None = None
    """``describe(tree) -> (values, statements)`` about the final tree, such as its node gaps; they
    go to the run's values and to the certificate."""
    prove: Callable[[float, Callable[[], bool]], Generator[Any, None, bool]] | None = None
    """``prove(bound, stop)``: steps of a proof that no tree is better than a bound, for
    verification to check, where a search can find one whoever solved the program.  A tree among
    them is better, and the last step.  The generator returns whether the bound is proven."""
    kernels: tuple[str, ...] = ()  # sets of kernels that `prove` needs
    method: str = "mip"
    """What proves the bound: "mip", "mip+path-search" when the model holds values of an exact
    search, "path-search", "threshold-search", "routing-search", or "heuristic"."""
    findings: tuple[str, ...] = ()
    """Remarks for the user about settings that are allowed and still doubtful."""
    capabilities: tuple[Capability, ...] = ()
    """Ways to solve it, where these are fewer than its formulation declares."""

    def method_of(self, engine: str) -> str:
        """What proves a bound with an engine: a search for planes names itself."""
        return engine if ENGINES[engine].module == "plane_search" else self.method

    def objective(self, value: float) -> float:
        """Objective of a value of the model, or of the search."""
        return self.scale * value + self.shift


def root_record(values: np.ndarray, exact: np.ndarray) -> dict[str, Any]:
    """Objective of the best tree with every column at the root, as plain values.

    `values`: shape ``(n_columns,)``, infinite where there is no tree; `exact`: whether they are so.
    """
    return {
        "root_values": [float(value) if np.isfinite(value) else None for value in values],
        "root_values_exact": [bool(flag) for flag in exact],
    }
