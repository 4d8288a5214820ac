# Written by python -m tests.docs.class_types; do not edit.
import inspect
from collections.abc import Mapping
from typing import Any, Literal

from octcore.estimator.classifier import OptimalTreeClassifier
from octcore.formulations.base import FormulationInfo

GENERAL: tuple[inspect.Parameter, ...]

def class_doc(info: FormulationInfo) -> str: ...

class CARTClassifier(OptimalTreeClassifier):
    """CART (greedy baseline).

    Grows the tree split by split, each time taking the best next step, and prunes it. It is quick and everywhere, and nothing about the result is proven.

    Parameters
    ----------
    encoding, max_depth, constraints, engine, time_limit, gap, node_limit, threads, random_state, class_weight, missing, kinds, costs, refer
        As in `OptimalTreeClassifier`.
    leaf_penalty : a number in [0, 1)
        Accuracy that a leaf must gain to be kept when the tree is pruned.
    criterion : one of 'gini', 'entropy', 'log_loss'
        Impurity that the growing steps reduce.
    """

    def __init__(
        self,
        *,
        encoding: str = 'auto',
        max_depth: int = 2,
        constraints: Mapping[str, Any] | None = None,
        engine: str = 'auto',
        time_limit: float = 60,
        gap: float = 0.0,
        node_limit: int | None = None,
        threads: int = 1,
        random_state: int = 0,
        class_weight: Mapping[Any, float] | str | None = None,
        missing: str = 'refuse',
        kinds: Mapping[str, str] | None = None,
        costs: Mapping[Any, Mapping[Any, float]] | str | None = None,
        refer: float | None = None,
        leaf_penalty: float = 0.0,
        criterion: Literal['gini', 'entropy', 'log_loss'] = 'gini',
    ) -> None: ...

class FlowOCTClassifier(OptimalTreeClassifier):
    """FlowOCT.

    Correctly classified rows flow from the root to a leaf; a mixed-integer program finds the tree with the largest flow. Its relaxation is stronger than those of OCT and BinOCT.

    Parameters
    ----------
    encoding, max_depth, constraints, engine, time_limit, gap, node_limit, threads, random_state, class_weight, missing, kinds, costs, refer
        As in `OptimalTreeClassifier`.
    leaf_penalty : a number in [0, 1)
        Price of a leaf in accuracy; a larger value gives a smaller tree.
    split_weight : a number in [0, 1)
        Weight of the number of splits against the number of correct rows; instead of leaf_penalty, as in the FlowOCT paper.
    class_cuts : true or false
        Add violated class inequalities at the root: rows of different classes that a split sends to one side cannot all be right below the other.
    search_start : true or false
        Ours: start from the tree of an exact search.
    value_row : true or false
        Ours: bound the objective by the exact value of every root feature; the proof is then shared between search and mixed-integer programming.
    feature_fixing : true or false
        Ours: exclude root features whose exact value is below a known tree.
    pair_fixing : true or false
        Ours: exclude pairs of a root feature and a feature below it whose exact value is below a known tree, and the root features themselves (10 seconds of search).
    """

    def __init__(
        self,
        *,
        encoding: str = 'auto',
        max_depth: int = 2,
        constraints: Mapping[str, Any] | None = None,
        engine: str = 'auto',
        time_limit: float = 60,
        gap: float = 0.0,
        node_limit: int | None = None,
        threads: int = 1,
        random_state: int = 0,
        class_weight: Mapping[Any, float] | str | None = None,
        missing: str = 'refuse',
        kinds: Mapping[str, str] | None = None,
        costs: Mapping[Any, Mapping[Any, float]] | str | None = None,
        refer: float | None = None,
        leaf_penalty: float = 0.01,
        split_weight: float | None = None,
        class_cuts: bool = False,
        search_start: bool = False,
        value_row: bool = False,
        feature_fixing: bool = False,
        pair_fixing: bool = False,
    ) -> None: ...

class BendOCTClassifier(OptimalTreeClassifier):
    """BendOCT.

    FlowOCT without its flow variables: the model guesses which rows are classified correctly and a cut corrects every guess that the tree denies. Small, but plain cuts are weak.

    Parameters
    ----------
    encoding, max_depth, constraints, engine, time_limit, gap, node_limit, threads, random_state, class_weight, missing, kinds, costs, refer
        As in `OptimalTreeClassifier`.
    leaf_penalty : a number in [0, 1)
        Price of a leaf in accuracy; a larger value gives a smaller tree.
    split_weight : a number in [0, 1)
        Weight of the number of splits against the number of correct rows; instead of leaf_penalty, as in the FlowOCT paper.
    """

    def __init__(
        self,
        *,
        encoding: str = 'auto',
        max_depth: int = 2,
        constraints: Mapping[str, Any] | None = None,
        engine: str = 'auto',
        time_limit: float = 60,
        gap: float = 0.0,
        node_limit: int | None = None,
        threads: int = 1,
        random_state: int = 0,
        class_weight: Mapping[Any, float] | str | None = None,
        missing: str = 'refuse',
        kinds: Mapping[str, str] | None = None,
        costs: Mapping[Any, Mapping[Any, float]] | str | None = None,
        refer: float | None = None,
        leaf_penalty: float = 0.01,
        split_weight: float | None = None,
    ) -> None: ...

class AcceleratedBendOCTClassifier(OptimalTreeClassifier):
    """Accelerated BendOCT.

    BendOCT with ideas of dynamic programming: rows that only a few features tell apart, and optimal subtrees of depth two, become cuts. Each technique can be switched off.

    Parameters
    ----------
    encoding, max_depth, constraints, engine, time_limit, gap, node_limit, threads, random_state, class_weight, missing, kinds, costs, refer
        As in `OptimalTreeClassifier`.
    leaf_penalty : a number in [0, 1)
        Price of a leaf in accuracy; a larger value gives a smaller tree.
    split_weight : a number in [0, 1)
        Weight of the number of splits against the number of correct rows; instead of leaf_penalty, as in the FlowOCT paper.
    strengthened_cuts : true or false
        Benders cuts at terminal nodes count half a wrong turn and half the sibling's label; labels become binary.
    solution_polishing : true or false
        Replace the lowest two levels of every tree that is found by the optimal ones.
    eqp : one of 'off', 'basic', 'chain', 'recursive'
        Equivalent-point inequalities; the later word is the tighter indicator of a separation.
    eqp_disaggregated : true or false
        One row per condition instead of their sum (tighter).
    eqp_group_selection : true or false
        Choose one class per set, not only bound the set.
    eqp_split_size : a whole number from 0 to 3
        Most features in a split set.
    path_bound_cuts : true or false
        Cuts from optimal subtrees of depth two below a path.
    bound_negative_samples : one of 'auto', 'on', 'off'
        Bound only the rows that the best subtree gets wrong; auto: unless a side constraint makes that invalid.
    bound_structure : one of 'auto', 'on', 'off'
        Demand the best subtree itself below a path; auto: unless a side constraint makes that invalid.
    probing : true or false
        As a solver probes: below a decided path, try every split of the next node by the path bounds of its two sides, and exclude those that cannot improve on the best tree.
    search_start : true or false
        Ours: start from the tree of the exact search (10 seconds).
    value_row : true or false
        Ours: rows with the exact value of every split of a node.
    feature_fixing : true or false
        Ours: exclude root features whose exact value is below a known tree.
    pair_fixing : true or false
        Ours: exclude pairs of a root feature and a feature below it whose exact value is below a known tree, and the root features themselves (10 seconds of search).
    """

    def __init__(
        self,
        *,
        encoding: str = 'auto',
        max_depth: int = 2,
        constraints: Mapping[str, Any] | None = None,
        engine: str = 'auto',
        time_limit: float = 60,
        gap: float = 0.0,
        node_limit: int | None = None,
        threads: int = 1,
        random_state: int = 0,
        class_weight: Mapping[Any, float] | str | None = None,
        missing: str = 'refuse',
        kinds: Mapping[str, str] | None = None,
        costs: Mapping[Any, Mapping[Any, float]] | str | None = None,
        refer: float | None = None,
        leaf_penalty: float = 0.01,
        split_weight: float | None = None,
        strengthened_cuts: bool = False,
        solution_polishing: bool = True,
        eqp: Literal['off', 'basic', 'chain', 'recursive'] = 'recursive',
        eqp_disaggregated: bool = True,
        eqp_group_selection: bool = True,
        eqp_split_size: int = 2,
        path_bound_cuts: bool = True,
        bound_negative_samples: Literal['auto', 'on', 'off'] = 'auto',
        bound_structure: Literal['auto', 'on', 'off'] = 'auto',
        probing: bool = True,
        search_start: bool = False,
        value_row: bool = False,
        feature_fixing: bool = False,
        pair_fixing: bool = False,
    ) -> None: ...

class PathSearchClassifier(OptimalTreeClassifier):
    """Exact search.

    Finds and proves the optimal tree by searching over its upper splits and solving the last two levels exactly for each. The answer is that of FlowOCT, usually in seconds.

    Parameters
    ----------
    encoding, max_depth, constraints, engine, time_limit, gap, node_limit, threads, random_state, class_weight, missing, kinds, costs, refer
        As in `OptimalTreeClassifier`.
    leaf_penalty : a number in [0, 1)
        Price of a leaf in accuracy; a larger value gives a smaller tree.
    split_weight : a number in [0, 1)
        Weight of the number of splits against the number of correct rows; instead of leaf_penalty, as in the FlowOCT paper.
    exact_root_values : true or false
        Go on until the value of every root feature is exact, not only an upper bound.
    """

    def __init__(
        self,
        *,
        encoding: str = 'auto',
        max_depth: int = 2,
        constraints: Mapping[str, Any] | None = None,
        engine: str = 'auto',
        time_limit: float = 60,
        gap: float = 0.0,
        node_limit: int | None = None,
        threads: int = 1,
        random_state: int = 0,
        class_weight: Mapping[Any, float] | str | None = None,
        missing: str = 'refuse',
        kinds: Mapping[str, str] | None = None,
        costs: Mapping[Any, Mapping[Any, float]] | str | None = None,
        refer: float | None = None,
        leaf_penalty: float = 0.01,
        split_weight: float | None = None,
        exact_root_values: bool = False,
    ) -> None: ...

class ThresholdSearchClassifier(OptimalTreeClassifier):
    """Exact search on all thresholds.

    Finds and proves the optimal tree among all trees with one column per split, over every threshold of every numeric column. No bins are chosen, so the proof covers all thresholds.

    Parameters
    ----------
    encoding, max_depth, constraints, engine, time_limit, gap, node_limit, threads, random_state, class_weight, missing, kinds, costs, refer
        As in `OptimalTreeClassifier`.
    leaf_penalty : a number in [0, 1)
        Price of a leaf in accuracy; a larger value gives a smaller tree.
    split_weight : a number in [0, 1)
        Weight of the number of splits against the number of correct rows; instead of leaf_penalty, as in the FlowOCT paper.
    exact_root_values : true or false
        Go on until the value of every root feature is exact, not only an upper bound.
    """

    def __init__(
        self,
        *,
        encoding: str = 'auto',
        max_depth: int = 2,
        constraints: Mapping[str, Any] | None = None,
        engine: str = 'auto',
        time_limit: float = 60,
        gap: float = 0.0,
        node_limit: int | None = None,
        threads: int = 1,
        random_state: int = 0,
        class_weight: Mapping[Any, float] | str | None = None,
        missing: str = 'refuse',
        kinds: Mapping[str, str] | None = None,
        costs: Mapping[Any, Mapping[Any, float]] | str | None = None,
        refer: float | None = None,
        leaf_penalty: float = 0.01,
        split_weight: float | None = None,
        exact_root_values: bool = False,
    ) -> None: ...

class PathColumnsClassifier(OptimalTreeClassifier):
    """Exact columns.

    Optimal trees with a budget of features, a floor on recall or fairness limits: exact search values the parts of a tree, a small mixed-integer program puts them together.

    Parameters
    ----------
    encoding, max_depth, constraints, engine, time_limit, gap, node_limit, threads, random_state, class_weight, missing, kinds, costs, refer
        As in `OptimalTreeClassifier`.
    leaf_penalty : a number in [0, 1)
        Price of a leaf in accuracy; a larger value gives a smaller tree.
    split_weight : a number in [0, 1)
        Weight of the number of splits against the number of correct rows; instead of leaf_penalty, as in the FlowOCT paper.
    """

    def __init__(
        self,
        *,
        encoding: str = 'auto',
        max_depth: int = 2,
        constraints: Mapping[str, Any] | None = None,
        engine: str = 'auto',
        time_limit: float = 60,
        gap: float = 0.0,
        node_limit: int | None = None,
        threads: int = 1,
        random_state: int = 0,
        class_weight: Mapping[Any, float] | str | None = None,
        missing: str = 'refuse',
        kinds: Mapping[str, str] | None = None,
        costs: Mapping[Any, Mapping[Any, float]] | str | None = None,
        refer: float | None = None,
        leaf_penalty: float = 0.01,
        split_weight: float | None = None,
    ) -> None: ...

class OCTClassifier(OptimalTreeClassifier):
    """OCT.

    Thresholds on the numeric columns themselves, no binarization: variables say which column a node tests, at which value, and where every row ends.

    Parameters
    ----------
    encoding, max_depth, constraints, engine, time_limit, gap, node_limit, threads, random_state, class_weight, missing, kinds, costs, refer
        As in `OptimalTreeClassifier`.
    alpha : a number in [0, 10]
        Price of a split in units of the majority rule's errors; a larger value gives a smaller tree.
    """

    def __init__(
        self,
        *,
        encoding: str = 'auto',
        max_depth: int = 2,
        constraints: Mapping[str, Any] | None = None,
        engine: str = 'auto',
        time_limit: float = 60,
        gap: float = 0.0,
        node_limit: int | None = None,
        threads: int = 1,
        random_state: int = 0,
        class_weight: Mapping[Any, float] | str | None = None,
        missing: str = 'refuse',
        kinds: Mapping[str, str] | None = None,
        costs: Mapping[Any, Mapping[Any, float]] | str | None = None,
        refer: float | None = None,
        alpha: float = 0.01,
    ) -> None: ...

class OCTBinaryClassifier(OptimalTreeClassifier):
    """OCT on binary features.

    Variables say at which terminal node every row ends and how many rows are wrong there. The classical model, on the same binary columns as FlowOCT.

    Parameters
    ----------
    encoding, max_depth, constraints, engine, time_limit, gap, node_limit, threads, random_state, class_weight, missing, kinds, costs, refer
        As in `OptimalTreeClassifier`.
    leaf_penalty : a number in [0, 1)
        Price of a leaf in accuracy; a larger value gives a smaller tree.
    split_weight : a number in [0, 1)
        Weight of the number of splits against the number of correct rows; instead of leaf_penalty, as in the FlowOCT paper.
    disaggregated : true or false
        One row per feature, as published: a larger model with a weaker relaxation.
    """

    def __init__(
        self,
        *,
        encoding: str = 'auto',
        max_depth: int = 2,
        constraints: Mapping[str, Any] | None = None,
        engine: str = 'auto',
        time_limit: float = 60,
        gap: float = 0.0,
        node_limit: int | None = None,
        threads: int = 1,
        random_state: int = 0,
        class_weight: Mapping[Any, float] | str | None = None,
        missing: str = 'refuse',
        kinds: Mapping[str, str] | None = None,
        costs: Mapping[Any, Mapping[Any, float]] | str | None = None,
        refer: float | None = None,
        leaf_penalty: float = 0.01,
        split_weight: float | None = None,
        disaggregated: bool = False,
    ) -> None: ...

class BinOCTClassifier(OptimalTreeClassifier):
    """BinOCT.

    Minimises the errors of a balanced tree; thresholds are found by binary search in bits, so that the number of rows of the model depends on the values, not on the data rows.

    Parameters
    ----------
    encoding, max_depth, constraints, engine, time_limit, gap, node_limit, threads, random_state, class_weight, missing, kinds, costs, refer
        As in `OptimalTreeClassifier`.

    """

    def __init__(
        self,
        *,
        encoding: str = 'auto',
        max_depth: int = 2,
        constraints: Mapping[str, Any] | None = None,
        engine: str = 'auto',
        time_limit: float = 60,
        gap: float = 0.0,
        node_limit: int | None = None,
        threads: int = 1,
        random_state: int = 0,
        class_weight: Mapping[Any, float] | str | None = None,
        missing: str = 'refuse',
        kinds: Mapping[str, str] | None = None,
        costs: Mapping[Any, Mapping[Any, float]] | str | None = None,
        refer: float | None = None,
    ) -> None: ...

class SOCTClassifier(OptimalTreeClassifier):
    """S-OCT.

    Every split is a hyperplane. The model routes points freely and cuts off what no hyperplane can do, so it needs neither weights nor big-M constants where it uses cuts.

    Parameters
    ----------
    encoding, max_depth, constraints, engine, time_limit, gap, node_limit, threads, random_state, class_weight, missing, kinds, costs, refer
        As in `OptimalTreeClassifier`.
    cuts : one of 'baseline', 'init-1', 'init-5', 'benders-root-1', 'benders-root-5', 'benders-root-10', 'benders-root-50', 'benders-root-100', 'benders-last-1', 'benders-last-5', 'benders-last-10', 'benders-last-50', 'benders-last-100', 'benders-all-1', 'benders-all-5', 'benders-all-10', 'benders-all-50', 'benders-all-100', 'user-root-1', 'user-root-5', 'user-root-10', 'user-root-50', 'user-root-100', 'user-last-1', 'user-last-5', 'user-last-10', 'user-last-50', 'user-last-100', 'user-all-1', 'user-all-5', 'user-all-10', 'user-all-50', 'user-all-100'
        How hyperplanes enter: by big-M rows (baseline), with initial cuts (init), or by lazy cuts at the root, the last level or all nodes (benders), up to so many a time.
    epsilon : a number in [1e-05, 0.5]
        Smallest gap between the two sides of a split, for weights of 1-norm 1 on columns in [0, 1]. 1e-5 stands for any strict separation.
    alpha : a number in [0, 1]
        Price of a split in accuracy; 0 maximises the correct rows.
    symmetry_breaking : true or false
        Exclude trees that differ only by exchanged subtrees.
    start_seconds : a number in [0, 30]
        Longest time for the heuristic that finds the first trees.
    """

    def __init__(
        self,
        *,
        encoding: str = 'auto',
        max_depth: int = 2,
        constraints: Mapping[str, Any] | None = None,
        engine: str = 'auto',
        time_limit: float = 60,
        gap: float = 0.0,
        node_limit: int | None = None,
        threads: int = 1,
        random_state: int = 0,
        class_weight: Mapping[Any, float] | str | None = None,
        missing: str = 'refuse',
        kinds: Mapping[str, str] | None = None,
        costs: Mapping[Any, Mapping[Any, float]] | str | None = None,
        refer: float | None = None,
        cuts: Literal['baseline', 'init-1', 'init-5', 'benders-root-1', 'benders-root-5', 'benders-root-10', 'benders-root-50', 'benders-root-100', 'benders-last-1', 'benders-last-5', 'benders-last-10', 'benders-last-50', 'benders-last-100', 'benders-all-1', 'benders-all-5', 'benders-all-10', 'benders-all-50', 'benders-all-100', 'user-root-1', 'user-root-5', 'user-root-10', 'user-root-50', 'user-root-100', 'user-last-1', 'user-last-5', 'user-last-10', 'user-last-50', 'user-last-100', 'user-all-1', 'user-all-5', 'user-all-10', 'user-all-50', 'user-all-100'] = 'benders-last-10',
        epsilon: float = 0.005,
        alpha: float = 0.0,
        symmetry_breaking: bool = True,
        start_seconds: float = 6.0,
    ) -> None: ...

class OCTHClassifier(OptimalTreeClassifier):
    """OCT-H.

    Optimal trees whose splits are hyperplanes; every feature that a hyperplane uses has a price, so that planes stay readable.

    Parameters
    ----------
    encoding, max_depth, constraints, engine, time_limit, gap, node_limit, threads, random_state, class_weight, missing, kinds, costs, refer
        As in `OptimalTreeClassifier`.
    alpha : a number in [0, 100]
        Price of a feature in a split, in units of the majority rule's errors; 0 leaves accuracy alone.
    epsilon : a number in [0.0001, 1]
        Width of the empty strip at every split, for weights of 1-norm 1.
    shattering_cuts : true or false
        Add shattering inequalities at the root: few rows that no hyperplane divides like this.
    start_seconds : a number in [0, 30]
        Longest time for the heuristic that finds the first trees.
    """

    def __init__(
        self,
        *,
        encoding: str = 'auto',
        max_depth: int = 2,
        constraints: Mapping[str, Any] | None = None,
        engine: str = 'auto',
        time_limit: float = 60,
        gap: float = 0.0,
        node_limit: int | None = None,
        threads: int = 1,
        random_state: int = 0,
        class_weight: Mapping[Any, float] | str | None = None,
        missing: str = 'refuse',
        kinds: Mapping[str, str] | None = None,
        costs: Mapping[Any, Mapping[Any, float]] | str | None = None,
        refer: float | None = None,
        alpha: float = 0.015625,
        epsilon: float = 0.005,
        shattering_cuts: bool = False,
        start_seconds: float = 3.0,
    ) -> None: ...

class SVM1ODTClassifier(OptimalTreeClassifier):
    """SVM1-ODT.

    Every split is a 1-norm support vector machine: few errors first, then margins, then small weights. Categorical columns are split by subsets of their values.

    Parameters
    ----------
    encoding, max_depth, constraints, engine, time_limit, gap, node_limit, threads, random_state, class_weight, missing, kinds, costs, refer
        As in `OptimalTreeClassifier`.
    alpha1 : a number in [0, 1e+07]
        Price of margin that a row lacks at a split; with alpha1 x epsilon below 1 a row on the plane is cheaper than an error.
    alpha2 : a number in [0, 10000]
        Price of the 1-norm of a split.
    epsilon : a number in [1e-05, 1]
        Margin wanted on both sides of a split, where scores reach M.
    margin_price : a number in [0, 10000]
        Price in errors of a row that lacks the whole margin; it replaces alpha1. With scaled weights only this and norm_price matter: tune them, say over 1, 10 and .001 to .3.
    norm_price : a number in [0, 1000]
        Price in errors of a plane whose margin is as wide as a column; it replaces alpha2.
    strict : true or false
        Keep right-goers off the plane; as published, a row on it may go either way, which needs alpha1 x epsilon of 1 or more.
    labels : one of 'binary', 'published'
        'published' multiplies leaf labels and routing, 'binary' has one variable per leaf and class and better bounds.
    categorical : one of 'subsets', 'one-hot'
        'subsets' tests a categorical column by a set of its values, 'one-hot' puts its indicators into the planes.
    cuts : true or false
        Add the published inequalities on class sizes.
    big_m : a number in [0.01, 1000]
        Largest score; it only fixes the scale of epsilon and the prices.
    shattering_cuts : true or false
        Add shattering inequalities at the root: few rows that no hyperplane divides like this.
    start_seconds : a number in [0, 30]
        Longest time for the heuristic that finds the first trees.
    """

    def __init__(
        self,
        *,
        encoding: str = 'auto',
        max_depth: int = 2,
        constraints: Mapping[str, Any] | None = None,
        engine: str = 'auto',
        time_limit: float = 60,
        gap: float = 0.0,
        node_limit: int | None = None,
        threads: int = 1,
        random_state: int = 0,
        class_weight: Mapping[Any, float] | str | None = None,
        missing: str = 'refuse',
        kinds: Mapping[str, str] | None = None,
        costs: Mapping[Any, Mapping[Any, float]] | str | None = None,
        refer: float | None = None,
        alpha1: float = 100.0,
        alpha2: float = 3.0,
        epsilon: float = 0.01,
        margin_price: float | None = None,
        norm_price: float | None = None,
        strict: bool = True,
        labels: Literal['binary', 'published'] = 'binary',
        categorical: Literal['subsets', 'one-hot'] = 'subsets',
        cuts: bool = True,
        big_m: float = 1.0,
        shattering_cuts: bool = False,
        start_seconds: float = 6.0,
    ) -> None: ...

class MargotClassifier(OptimalTreeClassifier):
    """MARGOT.

    Every branch node is a support vector machine, and all planes are found together with the way that each row takes. Margins are part of the objective, so the picture generalises.

    Parameters
    ----------
    encoding, max_depth, constraints, engine, time_limit, gap, node_limit, threads, random_state, class_weight, missing, kinds, costs, refer
        As in `OptimalTreeClassifier`.
    C_upper : a number in (0, 1e+09]
        Price of slack above the last branching level; small values let upper planes only route.
    C_last : a number in (0, 1e+09]
        Price of slack on the last branching level, where the classes are decided.
    norm : one of 'l2', 'l1'
        Norm of the weights in the objective; 'l1' is linear and is not the published MARGOT.
    epsilon : a number in [1e-05, 1]
        Width of the strip left of every upper plane that holds no row.
    big_m : a number in [1, 1e+06]
        Least bound on scores in the mixed-integer model (slacks get half of it); it is raised where trees worth having need more. The routing search needs none.
    """

    def __init__(
        self,
        *,
        encoding: str = 'auto',
        max_depth: int = 2,
        constraints: Mapping[str, Any] | None = None,
        engine: str = 'auto',
        time_limit: float = 60,
        gap: float = 0.0,
        node_limit: int | None = None,
        threads: int = 1,
        random_state: int = 0,
        class_weight: Mapping[Any, float] | str | None = None,
        missing: str = 'refuse',
        kinds: Mapping[str, str] | None = None,
        costs: Mapping[Any, Mapping[Any, float]] | str | None = None,
        refer: float | None = None,
        C_upper: float = 100.0,
        C_last: float = 1000.0,
        norm: Literal['l2', 'l1'] = 'l2',
        epsilon: float = 0.001,
        big_m: float = 100.0,
    ) -> None: ...

class HFSMargotClassifier(OptimalTreeClassifier):
    """HFS-MARGOT (hard feature selection).

    MARGOT whose planes may each use a few features only. The tree stays readable, because every branch node names one or two columns.

    Parameters
    ----------
    encoding, max_depth, constraints, engine, time_limit, gap, node_limit, threads, random_state, class_weight, missing, kinds, costs, refer
        As in `OptimalTreeClassifier`.
    C_upper : a number in (0, 1e+09]
        Price of slack above the last branching level; small values let upper planes only route.
    C_last : a number in (0, 1e+09]
        Price of slack on the last branching level, where the classes are decided.
    budget_upper : a whole number of at least 1
        Features that a plane above the last level may use.
    budget_last : a whole number of at least 1
        Features that a plane on the last level may use.
    epsilon : a number in [1e-05, 1]
        Width of the strip left of every upper plane that holds no row.
    big_m : a number in [1, 1e+06]
        Least bound on scores in the mixed-integer model (slacks get half of it); it is raised where trees worth having need more. The routing search needs none.
    """

    def __init__(
        self,
        *,
        encoding: str = 'auto',
        max_depth: int = 2,
        constraints: Mapping[str, Any] | None = None,
        engine: str = 'auto',
        time_limit: float = 60,
        gap: float = 0.0,
        node_limit: int | None = None,
        threads: int = 1,
        random_state: int = 0,
        class_weight: Mapping[Any, float] | str | None = None,
        missing: str = 'refuse',
        kinds: Mapping[str, str] | None = None,
        costs: Mapping[Any, Mapping[Any, float]] | str | None = None,
        refer: float | None = None,
        C_upper: float = 100.0,
        C_last: float = 1000.0,
        budget_upper: int = 2,
        budget_last: int = 2,
        epsilon: float = 0.001,
        big_m: float = 100.0,
    ) -> None: ...

class SFSMargotClassifier(OptimalTreeClassifier):
    """SFS-MARGOT (soft feature selection).

    MARGOT whose planes pay for every feature beyond a budget, so that a feature is used where it is worth its price. Fewer features make a tree that is easier to read.

    Parameters
    ----------
    encoding, max_depth, constraints, engine, time_limit, gap, node_limit, threads, random_state, class_weight, missing, kinds, costs, refer
        As in `OptimalTreeClassifier`.
    C_upper : a number in (0, 1e+09]
        Price of slack above the last branching level; small values let upper planes only route.
    C_last : a number in (0, 1e+09]
        Price of slack on the last branching level, where the classes are decided.
    budget_upper : a whole number of at least 1
        Features that a plane above the last level may use.
    budget_last : a whole number of at least 1
        Features that a plane on the last level may use.
    alpha : a number in [0, 1e+09]
        Price of every feature beyond the budget; larger values give sparser planes.
    epsilon : a number in [1e-05, 1]
        Width of the strip left of every upper plane that holds no row.
    big_m : a number in [1, 1e+06]
        Least bound on scores in the mixed-integer model (slacks get half of it); it is raised where trees worth having need more. The routing search needs none.
    """

    def __init__(
        self,
        *,
        encoding: str = 'auto',
        max_depth: int = 2,
        constraints: Mapping[str, Any] | None = None,
        engine: str = 'auto',
        time_limit: float = 60,
        gap: float = 0.0,
        node_limit: int | None = None,
        threads: int = 1,
        random_state: int = 0,
        class_weight: Mapping[Any, float] | str | None = None,
        missing: str = 'refuse',
        kinds: Mapping[str, str] | None = None,
        costs: Mapping[Any, Mapping[Any, float]] | str | None = None,
        refer: float | None = None,
        C_upper: float = 100.0,
        C_last: float = 1000.0,
        budget_upper: int = 1,
        budget_last: int = 1,
        alpha: float = 32.0,
        epsilon: float = 0.001,
        big_m: float = 100.0,
    ) -> None: ...

class MMSVMOCTClassifier(OptimalTreeClassifier):
    """MM-SVM-OCT.

    A tree of support vector machines whose narrowest margin is as wide as possible; rows may be relabelled at a price.

    Parameters
    ----------
    encoding, max_depth, constraints, engine, time_limit, gap, node_limit, threads, random_state, class_weight, missing, kinds, costs, refer
        As in `OptimalTreeClassifier`.
    c1 : a number in [0, 1e+06]
        Price of slack at a node.
    c2 : a number in [0, 1e+06]
        Price of a label flipped at a node.
    c3 : a number in [0, 1e+06]
        Price of a plane.
    relabel : true or false
        Let rows change their label at a node at price c2; small prices relabel a whole class and split nothing.
    epsilon : a number in [1e-05, 1]
        Width of the strip left of every upper plane that holds no row.
    big_m : a number in [2, 100000]
        Least bound on scores in the model; it is raised where trees worth having need more.
    start_seconds : a number in [0, 30]
        Longest time for the heuristic that finds the first trees.
    """

    def __init__(
        self,
        *,
        encoding: str = 'auto',
        max_depth: int = 2,
        constraints: Mapping[str, Any] | None = None,
        engine: str = 'auto',
        time_limit: float = 60,
        gap: float = 0.0,
        node_limit: int | None = None,
        threads: int = 1,
        random_state: int = 0,
        class_weight: Mapping[Any, float] | str | None = None,
        missing: str = 'refuse',
        kinds: Mapping[str, str] | None = None,
        costs: Mapping[Any, Mapping[Any, float]] | str | None = None,
        refer: float | None = None,
        c1: float = 10.0,
        c2: float = 5.0,
        c3: float = 0.1,
        relabel: bool = False,
        epsilon: float = 0.001,
        big_m: float = 60.0,
        start_seconds: float = 3.0,
    ) -> None: ...
