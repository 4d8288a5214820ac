"""What the routing search takes, and its planes: plain frozen records."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from octcore.numerics.node_qp.plane import NodePlane

Variant = Literal["margot", "hfs", "sfs"]
Status = Literal["optimal", "stalled", "stopped"]
"""How a search ended: proven, with states that rounding kept from being decided, or early."""


@dataclass(frozen=True)
class RoutingProblem:
    """A MARGOT problem on arrays."""

    x: NDArray[np.float64]  # features scaled to [0, 1]
    y: NDArray[np.float64]  # -1 and +1
    depth: int  # number of branching levels, at least 1
    c_upper: float
    c_last: float  # `c_upper`, `c_last`: penalty of slack above the last branching level and on it
    epsilon: float = 1e-3  # width of the strip left of an upper plane that holds no sample
    weights: NDArray[np.float64] | None = None
    """Finite and not negative; they multiply the penalties. Rows of weight 0 cost nothing, but lie
    in no strip either."""
    variant: Variant = "margot"  # hard (``hfs``) or soft (``sfs``) feature budget per node, or none
    budget_upper: int | None = None
    budget_last: int | None = None
    """`budget_upper`, `budget_last`: features per node and level for ``hfs`` and ``sfs``."""
    alpha: float = 0.0  # price of each feature beyond the budget (``sfs``)
    gap: float = 1e-4  # relative gap at which the search stops
    threads: int = 1
    """How many share the open states; more than one is not reproducible. Under feature budgets
    there is one."""

    @property
    def n_nodes(self) -> int:
        """Number of branch nodes."""
        return 2**self.depth - 1

    @property
    def n_upper(self) -> int:
        """Number of branch nodes above the last level."""
        return 2 ** (self.depth - 1) - 1

    @property
    def price(self) -> float:
        """Price of each feature beyond the budget."""
        return self.alpha if self.variant == "sfs" else np.inf

    def penalties(self) -> NDArray[np.float64]:
        """Penalty of each sample at each node, shape (n_nodes, n_samples)."""
        weights = np.ones(len(self.y)) if self.weights is None else np.asarray(self.weights, float)
        c = np.where(np.arange(self.n_nodes) < self.n_upper, self.c_upper, self.c_last)
        return c[:, None] * weights[None, :]

    def budgets(self) -> NDArray[np.int64]:
        """Feature budget of each node; the number of features without a budget."""
        p = self.x.shape[1]
        upper = p if self.variant == "margot" else min(self.budget_upper or p, p)
        last = p if self.variant == "margot" else min(self.budget_last or p, p)
        return np.where(np.arange(self.n_nodes) < self.n_upper, upper, last)


@dataclass(frozen=True)
class Planes:
    """Planes of all branch nodes, position ``t - 1`` for node ``t`` of the 1-based heap.

    ``score = weights[t-1] @ x + biases[t-1]``: at upper nodes right-goers have score >= 0 and
    left-goers score <= -epsilon; on the last level the sign is the predicted class.
    """

    weights: NDArray[np.float64]
    biases: NDArray[np.float64]

    @classmethod
    def of(cls, nodes: Sequence[NodePlane]) -> "Planes":
        """Planes of all branch nodes in their order."""
        return cls(np.array([one.weights for one in nodes]), np.array([one.bias for one in nodes]))

    def __post_init__(self) -> None:
        self.weights.setflags(write=False)
        self.biases.setflags(write=False)
