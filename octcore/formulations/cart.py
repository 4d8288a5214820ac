"""CART: the greedy baseline that optimal trees are compared with.

Breiman, Friedman, Olshen and Stone (1984).  The tree is grown by scikit-learn, then pruned by the
cost-complexity rule for the objective that the optimal formulations maximise,
``accuracy - leaf_penalty * leaves``, so that both stand on the same scale.
"""

import numpy as np

from octcore.formulations.base import FormulationInfo, Reference, TeachingText, formulation
from octcore.formulations.shared.univariate import UnivariateObjective
from octcore.parameters import Choice, FloatRange
from octcore.program import Capability, Problem, Program, Sense
from octcore.tree.tree import Split, Tree, grown, midpoint
from octcore.warmstart.greedy import prune

INFO = FormulationInfo(
    key="cart",
    place=10,
    title="CART (greedy baseline)",
    summary=(
        "Grows the tree split by split, each time taking the best next step, and prunes it. "
        "It is quick and everywhere, and nothing about the result is proven."
    ),
    reference=Reference(
        "Breiman, L., Friedman, J., Olshen, R. and Stone, C.",
        1984,
        "Classification and Regression Trees",
        "Wadsworth",
        "10.1201/9781315139470",
    ),
    grid={"depth": (1, 2, 3, 4, 6), "leaf_penalty": (0.03, 0.01, 0.003, 0.0)},
    hyperparameters=(
        FloatRange(
            "leaf_penalty",
            0.0,
            "λ",
            "Accuracy that a leaf must gain to be kept when the tree is pruned.",
            low=0.0,
            high=1.0,
            high_open=True,
        ),
        Choice(
            "criterion",
            "gini",
            help="Impurity that the growing steps reduce.",
            options=("gini", "entropy", "log_loss"),
        ),
    ),
    constraints=frozenset(
        {"max_leaves", "max_splits", "min_samples_leaf", "forbidden_features", "class_weight"}
    ),
    has_costs=True,
    capabilities=(Capability.GREEDY,),
    max_depth=20,
    equations=(
        (
            r"\min_{j,t}\ \tfrac{n_L}{n} G(L) + \tfrac{n_R}{n} G(R)",
            "each split minimises the weighted impurity of its two children",
        ),
    ),
    teaching=TeachingText(
        "Greedy (CART)",
        "Takes the split that makes the two sides purest, then does the same on each side. It "
        "never looks ahead and never takes a split back.",
        "The first line was chosen without knowing what the lines below could do with it. Count "
        "the crosses, then compare with the next picture.",
    ),
    good_at="The picture to beat: fast, often good, and blind to any pair of splits such as XOR.",
)  # fmt: skip


@formulation(INFO)
def build(problem: Problem) -> Program:
    """Make the program; its only start is the grown and pruned tree."""
    objective = UnivariateObjective(problem)

    return Program(
        sense=Sense.MAXIMISE,
        evaluate=objective.evaluate,
        starts=lambda _: iter([("greedy", prune(_grow(problem), problem, objective.penalty))]),
        claims=("a greedy tree: nothing is proven about it", *objective.reading),
        method="heuristic",
    )


def _grow(problem: Problem) -> Tree:
    from sklearn.tree import DecisionTreeClassifier  # lists of formulations do not need it

    constraints = problem.constraints
    allowed = np.flatnonzero(~problem.forbidden_columns)
    if len(allowed) == 0 or constraints.leaf_limit == 1:
        return problem.majority_leaf
    model = DecisionTreeClassifier(
        criterion=str(problem.params["criterion"]),  # type: ignore[arg-type]
        max_depth=problem.depth,
        min_samples_leaf=constraints.min_samples_leaf or 1,
        max_leaf_nodes=constraints.leaf_limit,
        random_state=problem.seed,
    )
    rows = problem.counts > 0  # a row once, for its own class, weighs as much as its dearest answer
    # By rank: scikit-learn's single precision does not reach all numbers, nor tell all apart.
    columns = [np.unique(problem.X[rows, j], return_inverse=True) for j in allowed]
    X = np.column_stack([rank for _, rank in columns])
    model.fit(X, problem.y[rows], problem.weights[rows])
    inner = model.tree_

    def part(position: int) -> int | tuple[Split, int, int]:
        left, right = int(inner.children_left[position]), int(inner.children_right[position])
        if left < 0:
            return int(model.classes_[int(inner.value[position][0].argmax())])
        j, rank = int(inner.feature[position]), int(inner.threshold[position])
        low, high = columns[j][0][rank : rank + 2].tolist()
        return Split.on_feature(int(allowed[j]), midpoint(low, high)), left, right

    return Tree(*grown(0, part), problem.n_features, problem.n_classes)
