"""OCT-H: optimal classification trees with hyperplanes (Bertsimas and Dunn).

=======  ============================================================================
I        training rows, identical ones merged with weights; columns scaled to [0, 1]
J        columns that take two values at least
K        classes
B, L     branch nodes 1 .. 2^D - 1 and terminal nodes 2^D .. 2^(D+1) - 1
a, b     hyperplane of a node, ``||a||_1 <= 1``: left when a.x + mu <= b, right when a.x >= b
s, d     node uses a column; node splits (without a split all rows go right)
=======  ============================================================================

The full text of the paper was not at hand; the model is restated from re-implementations.  What
differs: a routing row stands once per row, node and side, summed over the terminals below, which
is tighter and shorter than once per terminal; and the big-M of a row is ``max_j |x_ij| + max |b|``
instead of 2 (S-OCT's tightening).
"""

from __future__ import annotations

import numpy as np

from octcore.formulations.base import BERTSIMAS_DUNN, FormulationInfo, TeachingText, formulation
from octcore.formulations.oct_h.model import OCTHModel
from octcore.formulations.oct_h.trees import OCTHTrees, with_leaf_size
from octcore.formulations.shared.error_weights import weight_tolerance
from octcore.formulations.shared.oblique import START_SECONDS
from octcore.formulations.shared.oblique_bounds import best_stump_errors, priced_bound
from octcore.formulations.shared.shattering_switch import SHATTERING
from octcore.formulations.shared.univariate import smallest_step, weight_unit
from octcore.parameters import FloatRange
from octcore.program import Capability, Problem, Program, Sense
from octcore.search.assignment.search import ALL
from octcore.tree import metrics

INFO = FormulationInfo(
    key="oct-h",
    place=120,
    class_name="OCTHClassifier",
    title="OCT-H",
    summary="Optimal trees whose splits are hyperplanes; every feature that a hyperplane uses has "
    "a price, so that planes stay readable.",
    reference=BERTSIMAS_DUNN,
    split_kind="oblique",
    hyperparameters=(
        FloatRange(
            "alpha",
            2.0**-6,
            r"\alpha",
            "Price of a feature in a split, in units of the majority rule's errors; 0 leaves "
            "accuracy alone.",
            low=0.0,
            high=100.0,
        ),
        FloatRange(
            "epsilon",
            0.005,
            r"\mu",
            "Width of the empty strip at every split, for weights of 1-norm 1.",
            low=1e-4,
            high=1.0,
            advanced=True,
        ),
        SHATTERING,
        START_SECONDS,
    ),
    constraints=frozenset(
        {"min_samples_leaf", "max_leaves", "max_splits", "forbidden_features", "class_weight"}
    ),
    capabilities=(Capability.ASSIGNMENT_SEARCH, Capability.LINEAR),
    sense=Sense.MINIMISE,
    objective="errors / errors of the majority rule + alpha x features in splits",
    max_depth=6,
    equations=(
        (r"\min \sum_t L_t / \hat L + \alpha \sum_t \sum_j s_{tj}", "errors and used features"),
        (
            r"a_m^\top x_i + \mu \le b_m + (M_i + \mu)\bigl(1 - \textstyle\sum_t z_{it}\bigr)",
            "rows at terminals left of m lie below its strip",
        ),
        (
            r"a_m^\top x_i \ge b_m - M_i \bigl(1 - \textstyle\sum_t z_{it}\bigr)",
            "rows at terminals right of m lie above it",
        ),
        (
            r"\sum_j |a_{mj}| \le d_m,\quad |a_{mj}| \le s_{mj} \le d_m",
            "planes have 1-norm 1 at most and pay for the features that they use",
        ),
        (r"\sum_i z_{it} \ge N_{\min} l_t", "open leaves hold enough rows"),
    ),
    teaching=TeachingText(
        "OCT-H",
        "OCT with slanted splits: weights for all features, a price for every feature in a split, "
        "and large constants.",
        "Few errors, but nothing asks for a wide margin: lines may pass close to points.",
    ),
    good_at="Shows how few features an oblique split needs, and proves it on some hundred rows "
    "where few features and few errors do.",
)


def _bound(judge: OCTHTrees) -> float:
    """What conflicting rows, the number of classes and the price of features allow."""
    problem = judge.problem
    X, y, weights = problem.X, problem.y, problem.weights
    errors = priced_bound(
        np.bincount(y, weights, minlength=problem.n_classes).astype(float),
        metrics.conflict_errors(X, y, weights),
        best_stump_errors(X, y, weights),
        judge.price,
        judge.most_splits,
    )
    return errors / judge.majority_errors


@formulation(INFO)
def build(problem: Problem) -> Program:
    """Make the OCT-H program of a problem."""
    judge = OCTHTrees(with_leaf_size(problem))
    model, problem = OCTHModel(judge), judge.problem
    unit = weight_unit(problem.weights) / judge.majority_errors
    most = len(model.sets.columns) * len(model.sets.B)
    task = judge.task
    exact = (Capability.ASSIGNMENT_SEARCH,) if task is not None else ()
    return Program(
        sense=Sense.MINIMISE,
        capabilities=(*exact, Capability.LINEAR),
        search=task,
        prove=None
        if task is None
        else lambda bound, stop: task.prove(bound * judge.majority_errors, stop),
        kernels=ALL,
        evaluate=judge.evaluate,
        size=model.size,
        build=model.build,
        scale=1 / judge.majority_errors,
        feasibility=weight_tolerance(problem, judge.price),
        granularity=smallest_step(unit, [judge.alpha * k for k in range(most + 1)]),
        starts=judge.starts,
        improve=judge.improve,
        bound=_bound(judge),
        claims=(
            f"every split leaves a strip of width {judge.epsilon:g} empty (weights of 1-norm 1): "
            "epsilon-feasible trees only",
            f"leaves of {problem.constraints.min_samples_leaf} rows at least",
        ),
    )
