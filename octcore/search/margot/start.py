"""First tree of the routing search, and re-routing around a tree.

Level by level, each node gets the plane of its own SVM; a plane whose strip holds samples is
shifted into the nearest gap of the scores.
"""

from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray

from octcore.numerics.node_qp.plane import NodeProblem
from octcore.numerics.node_qp.sparse import SparseNode, solve_sparse_node
from octcore.search.margot.records import Planes, RoutingProblem

# Effort only: score distances within which re-routing may move samples against an upper plane.
_REACH = (1e9, 0.5, 0.2, 0.05, 0.01)


def strip_shift(scores: NDArray[np.float64], epsilon: float) -> float:
    """Smallest change of the bias after which no score lies in (-epsilon, 0).

    The gaps between neighbouring scores of width at least epsilon and the two outer half-lines
    are the places where the strip may go.
    """
    if not np.any((scores > -epsilon) & (scores < 0.0)):
        return 0.0
    ordered = np.unique(scores)
    low = np.concatenate([[-np.inf], ordered])
    high = np.concatenate([ordered, [np.inf]])
    wide = high - low >= epsilon
    # The strip (-epsilon, 0) moved by -shift must fit: low + shift <= -epsilon, high + shift >= 0.
    smallest, largest = -high[wide], -epsilon - low[wide]
    shift = np.clip(0.0, smallest, largest)
    return float(shift[np.argmin(np.abs(shift))])


def local_svm(
    problem: RoutingProblem, stop: Callable[[], bool] = lambda: False
) -> tuple[Planes, NDArray[np.int64]]:
    """Level by level, solve the problem of every single node on the samples that it receives.

    The published first tree of MARGOT, HFS-MARGOT and SFS-MARGOT, whose nodes are a plain
    soft-margin SVM, or one with a hard or soft feature budget.

    `stop`: asked during the node solves; the best plane so far is used when it says so.

    Returns planes with repaired biases, and the last-level node of each sample (0-based heap).
    """
    x, y = np.ascontiguousarray(problem.x, float), problem.y.astype(float)
    penalties, budgets = problem.penalties(), problem.budgets()
    weights, biases = np.zeros((problem.n_nodes, x.shape[1])), np.zeros(problem.n_nodes)
    routing = np.zeros(len(y), np.int64)
    for node in range(problem.n_nodes):
        samples = np.flatnonzero(routing == node)
        if len(samples) == 0:
            biases[node] = own_side(node)
            continue
        rows = x[samples], y[samples], penalties[node, samples], np.zeros(len(samples), np.int8)
        qp = NodeProblem(*rows, problem.epsilon, stop)
        if problem.variant == "margot" or np.ptp(y[samples]) == 0:
            plane = qp.solve().plane
        else:
            plane = solve_sparse_node(SparseNode(qp, int(budgets[node]), problem.price)).plane
        weights[node], biases[node] = plane.weights, plane.bias
        if node < problem.n_upper:
            scores = x[samples] @ plane.weights + plane.bias
            shift = strip_shift(scores, problem.epsilon)
            biases[node] += shift
            routing[samples] = 2 * node + 1 + (scores + shift > -0.5 * problem.epsilon)
    return Planes(weights, biases), routing


def own_side(node: int) -> float:
    """Bias of a node without rows, which sends them to its own side."""
    return -1.0 if node % 2 == 1 else 1.0


def node_membership(routing: NDArray[np.int64], node: int) -> NDArray[np.int8]:
    """Side of each sample at a node: -1, +1, 0 (the node is its last one) or 2 (elsewhere)."""
    sides = np.full(len(routing), 2, np.int8)
    sides[routing == node] = 0
    current = routing.copy()
    while np.any(current > node):
        below = current > node
        parent = (current - 1) // 2
        hit = below & (parent == node)
        sides[hit] = np.where(current[hit] % 2 == 1, -1, 1)
        current = np.where(below, parent, current)
    return sides


def tree_objective(problem: RoutingProblem, planes: Planes, routing: NDArray[np.int64]) -> float:
    """True objective of planes and routing (0-based last-level nodes), feature prices included.

    Infinite beyond a hard budget.
    """
    beyond = np.maximum(0, np.count_nonzero(planes.weights, axis=1) - problem.budgets())
    total = float(problem.price * beyond.sum()) if beyond.any() else 0.0
    total += 0.5 * float((planes.weights**2).sum())
    penalties = problem.penalties()
    for node in range(problem.n_nodes):
        here = node_membership(routing, node) < 2
        score = problem.x[here] @ planes.weights[node] + planes.biases[node]
        total += float(penalties[node, here] @ np.maximum(0.0, 1.0 - problem.y[here] * score))
    return total


def rerouted(
    problem: RoutingProblem, planes: Planes, routing: NDArray[np.int64]
) -> Iterator[NDArray[np.int64]]:
    """Routings in which samples move to the leaf where the current planes charge them least.

    A sample may cross an upper plane only if it lies within a reach of it; the reach shrinks.
    """
    n_upper, labels = problem.n_upper, problem.y
    scores = problem.x @ planes.weights.T + planes.biases
    hinge = problem.penalties().T * np.maximum(0.0, 1.0 - labels[:, None] * scores)
    cost = np.zeros((len(labels), n_upper + 1))
    crossing = np.zeros_like(cost)
    for position in range(n_upper + 1):
        node = n_upper + position
        cost[:, position] = hinge[:, node]
        while node > 0:
            parent = (node - 1) // 2
            goes_right = node % 2 == 0
            against = goes_right != (scores[:, parent] >= 0.0)
            distance = np.where(against, np.abs(scores[:, parent]), 0.0)
            crossing[:, position] = np.maximum(crossing[:, position], distance)
            cost[:, position] += hinge[:, parent]
            node = parent
    here = np.arange(len(labels))
    current = cost[here, routing - n_upper]
    for reach in _REACH:
        allowed = np.where(crossing <= reach, cost, np.inf)
        best = allowed.argmin(axis=1)
        better = allowed[here, best] < current - 1e-9
        if better.any():  # by more than rounding, which would move rows to and fro
            yield np.where(better, best + n_upper, routing)
