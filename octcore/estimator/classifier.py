"""The classifier for any formulation.

A fit that ends without a proof keeps its best tree, warns, and says so in ``is_optimal_``.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import pandas as pd
from scipy.sparse import csr_matrix
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import validation
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight, check_is_fitted

from octcore.data.arrays import as_frame, prepare_rows, refuse_missing_labels, refuse_rounded_table
from octcore.data.dataset import Dataset
from octcore.data.tasks import ASK, COSTS, REFER, task_of
from octcore.encoding.base import Encoding
from octcore.engines.events import Trace
from octcore.errors import DataError, EngineError, ModelFileError, SettingsError
from octcore.estimator import tables
from octcore.formulations.base import FormulationInfo, get_formulation, list_formulations
from octcore.parameters import at_the_door
from octcore.program import Program, Sense
from octcore.solving.prepare import problem_of
from octcore.solving.run import Run, SolvedRun
from octcore.solving.settings import DEPTH, SEED
from octcore.solving.solve import solve
from octcore.store.models import leaf_shares
from octcore.tree.constraints import side_constraint
from octcore.tree.metrics import feature_usage
from octcore.tree.tree import Tree, labels_array

if TYPE_CHECKING:
    from sklearn.tree import DecisionTreeClassifier

# scikit-learn gives these parameters text defaults, from which type checkers conclude text.
check_array: Any = validation.check_array
validate_data: Any = validation.validate_data


@dataclass(eq=False, repr=False)
class OptimalTreeClassifier(ClassifierMixin, BaseEstimator):
    """A classification tree trained to proven optimality.

    Parameters
    ----------
    formulation : str
        Key of a formulation, see `octcore.formulations`.
    encoding : str
        How raw columns become the columns that splits test; ``"auto"`` is what the formulation
        needs.
    max_depth : int
        Largest depth of the tree.  None is refused: a proof needs a limit.
    params, constraints : mapping or None
        Hyperparameters and side constraints, as in `octcore.solve`.
    engine : str
        Engine key or ``"auto"``.
    time_limit : float
        Seconds of one fit.
    gap : float
        Relative gap at which the fit may stop.
    node_limit : int or None
        Largest number of branch-and-bound nodes; unlike seconds it stops at the same place again.
    threads : int
        Threads of the solver.
    random_state : int
        Seed.
    class_weight : dict, "balanced" or None
        Weights of the classes in the accuracy; the same as ``constraints={"class_weight": ...}``.
        Balanced ones go by the number of rows, whatever their `sample_weight`, as in scikit-learn.
    missing : {"refuse", "branch"}
        What a missing value is: refused, as scikit-learn's checks ask also where no split tests the
        column (``run_.predict`` takes such rows), or told apart by a branch of its own.  For
        ``"branch"``, a column of categories has it as a further level; one of numbers with missing
        values in training gets a second column, ``NAME is missing``, and counts as its median.
    kinds : mapping or None
        Kinds of columns by name, as in `octcore.read_csv`.  By default a table with named
        columns and an array are typed as a file would be: two values are binary, other numbers
        numeric, text is categorical.
    costs : mapping, "ordinal" or None
        ``costs[true][answer]``, what a wrong answer costs, 1 where nothing is said; as in
        `octcore.solve`.
    refer : float or None
        What it costs to leave a row to a person; `predict` may then give ``octcore.ASK``, which
        scorers of scikit-learn, unlike `score`, refuse beside labels that are no text.
    min_samples_leaf, max_leaf_nodes : int, int or None
        As in scikit-learn; as ``constraints={"min_samples_leaf": ..., "max_leaves": ...}``.
    monotonic_cst : mapping, sequence or None
        As in scikit-learn, by name or by position: 1 where the prediction may only rise with a
        column, -1 where it may only fall, 0 else; the same as ``constraints={"monotone": ...}``.
    leaf_penalty : float or None
        Price of a leaf; the same as ``params={"leaf_penalty": ...}``.
    verbose : int
        Whether to tell on standard error how a fit stands.

    Attributes
    ----------
    tree_ : Tree
        The tree in encoded columns.
    encoding_ : Encoding
        From raw to encoded columns.
    classes_ : numpy.ndarray
        Sorted class labels.
    n_features_in_ : int
        Number of raw columns.
    feature_names_in_ : numpy.ndarray
        Names of the raw columns, when they were text.
    objective_, bound_, gap_ : float or None
        As in `Run`.
    status_ : str
        As in `Run`.
    is_optimal_ : bool
        Whether optimality is proven.
    trace_ : Trace
        Events of the solve.
    solve_time_ : float
        Seconds.
    run_ : Run
        The whole result; its training rows are left out where the estimator is pickled or copied.
    feature_importances_ : numpy.ndarray
        Shape ``(n_features_in_,)``.  The mean loss of the objective when a split is undone, see the
        property.
    """

    formulation: str = "threshold-search"
    encoding: str = "auto"
    max_depth: int = 2
    params: Mapping[str, Any] | None = None
    constraints: Mapping[str, Any] | None = None
    engine: str = "auto"
    time_limit: float = 60
    gap: float = 0.0
    node_limit: int | None = None
    threads: int = 1
    random_state: int = 0
    class_weight: Mapping[Any, float] | str | None = None
    missing: str = tables.REFUSE
    kinds: Mapping[str, str] | None = None
    costs: Mapping[Any, Mapping[Any, float]] | str | None = None
    refer: float | None = None
    min_samples_leaf: int = 1
    max_leaf_nodes: int | None = None
    monotonic_cst: Mapping[str, int] | Sequence[int] | np.ndarray | None = None
    leaf_penalty: float | None = None
    verbose: int = 0

    tree_: Tree = field(init=False)
    encoding_: Encoding = field(init=False)
    classes_: np.ndarray = field(init=False)
    n_features_in_: int = field(init=False)
    feature_names_in_: np.ndarray = field(init=False)
    objective_: float | None = field(init=False)
    bound_: float | None = field(init=False)
    gap_: float | None = field(init=False)
    status_: str = field(init=False)
    is_optimal_: bool = field(init=False)
    trace_: Trace = field(init=False)
    solve_time_: float = field(init=False)
    run_: Run = field(init=False)
    _losses: dict[str, float] = field(init=False)

    def __getstate__(self) -> dict[str, Any]:
        """Leave the training rows out: a stored model is small, and tells nobody's values."""
        state: Any = super().__getstate__()
        if "run_" not in state or self.run_.train is None:
            return state
        run = replace(self.run_, train=None)
        return {**state, "run_": run, "_losses": feature_losses(self.run_.needed)}

    def _formulation_key(self) -> str:
        return self.formulation

    def _hyperparameters(self) -> Mapping[str, Any] | None:
        return joined(self.params, "params", leaf_penalty=self.leaf_penalty)

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Train the tree; ``run_.verify()`` derives its optimum again by other means.

        Parameters
        ----------
        X : array-like, or a table of pandas, polars or pyarrow
            Raw rows, shape ``(n_samples, n_features)``; text columns of a table are categorical,
            ordered categories keep their order, dates are days since the first one.
        y : array-like
            Class labels, shape ``(n_samples,)``.
        sample_weight : array-like or None
            Weights of the rows in the accuracy, exact where the formulation takes weights and
            refused elsewhere.

        Returns
        -------
        OptimalTreeClassifier
            The fitted estimator itself.

        Raises
        ------
        SettingsError, DataError
            Both are ``ValueError``: a setting or the data cannot be used.
        EngineError
            If no tree was found.

        Warns
        -----
        sklearn.exceptions.ConvergenceWarning
            If the fit ended before optimality was proven.
        UserWarning
            If a column holds dates or objects.
        """
        info = get_formulation(self._formulation_key()).info
        tables.MISSING.check(self.missing)
        require_depth(self.max_depth)
        X, y = self._checked(as_frame(X), y)
        require_two_classes(info, len(self.classes_))
        data, weights = self._weighted_rows(info, X, y, sample_weight)
        run = self._solve(info, data, weights)
        if run.tree is None:
            raise EngineError("NO_TREE", f"No tree was found: {run.stop_reason}.")
        warn_unproven(run)
        self.run_, self.tree_, self.encoding_, self.trace_ = run, run.tree, run.encoding, run.trace
        self.objective_, self.bound_, self.gap_ = run.objective, run.bound, run.gap
        self.status_, self.is_optimal_ = run.status, run.is_optimal
        self.solve_time_ = run.timings["total"]
        self._shares, self._read = leaf_shares(run, data, weights), data.columns
        return self

    def _solve(self, info: FormulationInfo, data: Dataset, weights: np.ndarray | None) -> Run:
        as_given = (
            "encoding", "engine", "time_limit", "gap", "node_limit", "threads", "refer", "verbose",
        )  # fmt: skip
        return solve(
            data,
            formulation=info.key,
            depth=self.max_depth,
            params=self._hyperparameters(),
            constraints=self._constraints(data),
            costs=labelled(self.costs, data.classes),
            seed=seed_of(self.random_state),
            sample_weight=weights,
            verify=False,  # small tables would be fitted many times slower, and grids are of many
            **{name: getattr(self, name) for name in as_given},
        )

    def _constraints(self, data: Dataset) -> Mapping[str, Any] | None:
        cst, leaves = self.monotonic_cst, self.max_leaf_nodes
        if leaves is not None:
            leaves = replace(side_constraint("max_leaves"), name="max_leaf_nodes").check(leaves)
        return joined(
            self.constraints,
            "constraints",
            class_weight=labelled(self.class_weight, data.classes),
            min_samples_leaf=None if self.min_samples_leaf == 1 else self.min_samples_leaf,
            max_leaves=leaves,
            monotone=ways_of(cst.tolist() if isinstance(cst, np.ndarray) else cst, self._columns),
        )

    def _checked(self, X: Any, y: Any) -> tuple[pd.DataFrame, np.ndarray]:
        if y is not None:
            refuse_missing_labels(y)
            y = tables.as_labels(y)
        if isinstance(X, pd.DataFrame) and not tables.all_numbers(X):
            validate_data(self, X, y, skip_check_array=True)
            y = np.asarray(y)
        else:
            names, given = getattr(X, "columns", None), X
            with tables.advised():
                X, y = validate_data(self, X, y, dtype=np.float64, ensure_all_finite=self._finite)
            refuse_rounded_table(given, X)
            names = [f"x{k}" for k in range(X.shape[1])] if names is None else map(str, names)
            X = pd.DataFrame(X, columns=[*names])
        try:
            check_classification_targets(y)
            self.classes_ = np.unique(y)
        except TypeError as error:
            kinds = " and ".join(sorted({type(label).__name__ for label in np.ravel(y).tolist()}))
            message = f"The labels are {kinds}; make all of them text or all numbers."
            raise DataError("MIXED_LABELS", message) from error
        return X, y

    @property
    def _finite(self) -> bool | str:
        return "allow-nan" if self.missing == tables.BRANCH else True

    def _weighted_rows(
        self, info: FormulationInfo, frame: pd.DataFrame, y: np.ndarray, sample_weight: Any
    ) -> tuple[Dataset, np.ndarray | None]:
        """Rows and their weights; rows of weight zero count nowhere and are left out."""
        self._columns = tuple(map(str, frame.columns))
        weights = None if sample_weight is None else _check_sample_weight(sample_weight, frame)
        kept = np.ones(len(frame), dtype=bool) if weights is None else weights > 0
        self._gaps = tables.Gaps.of(frame, kept) if self.missing == tables.BRANCH else tables.Gaps()
        frame = self._gaps.close(frame)
        data = Dataset.from_arrays(frame, y, kinds=self.kinds)
        for finding in data.findings:
            warnings.warn(finding.message, UserWarning, stacklevel=3)
        if weights is None:
            return data, None
        require_weights(info)
        if not kept.all() and (weights >= 0).all():
            data, weights = data.subset(kept), weights[kept]
        return data, weights

    def _frame(self, X: Any) -> pd.DataFrame:
        check_is_fitted(self, "tree_")
        if not vars(self).keys() >= {"_columns", "_gaps", "_read", "_shares"}:
            message = "An earlier version of octcore stored this estimator, without what reading "
            message += "rows now needs; fit it again."
            raise ModelFileError("OLD_ESTIMATOR", message)
        X = as_frame(X)
        if isinstance(X, pd.DataFrame) and not tables.all_numbers(X):
            validate_data(self, X, reset=False, skip_check_array=True)
            frame = X
        else:
            with tables.advised():
                array = check_array(X, dtype=np.float64, ensure_all_finite=self._finite)
            refuse_rounded_table(X, array)
            validate_data(self, X, reset=False, skip_check_array=True)
            frame = pd.DataFrame(array, columns=list(self._columns))
        # Only what stands for "missing" in Python is missing here, not the marks of files.
        return prepare_rows(self._gaps.close(frame), self._read, frozenset({""}))

    def predict(self, X: Any) -> np.ndarray:
        """Predict the class labels of raw rows, shape ``(n_samples,)``.

        With `refer` some may be ``octcore.ASK``, "ask a person"; beside labels that are no text the
        array then has the type object.
        """
        encoded = self._encoded(X)
        return self._answers[self.tree_.predict_codes(encoded)]

    @property
    def _answers(self) -> np.ndarray:
        asks = self.tree_.n_targets < self.tree_.n_classes
        return labels_array([*self.classes_.tolist(), ASK]) if asks else self.classes_

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Mean accuracy; with `costs` or `refer` 1 - mean cost of a row, which it falls short of.

        Parameters
        ----------
        X, y, sample_weight
            Raw rows, their classes and their weights.

        Raises
        ------
        SettingsError
            If rows have costs and a class that was not there in training.
        """
        if self.costs is None and self.refer is None:
            return super().score(X, y, sample_weight)
        classes = self.classes_.tolist()
        costs = COSTS.check(labelled(self.costs, classes))
        task = task_of(costs, REFER.check(self.refer), classes)
        place = {label: k for k, label in enumerate(classes)}
        labels = np.ravel(y).tolist()
        unknown = set(labels) - set(place)
        if unknown:
            message = f"y has the class {min(map(str, unknown))!r}, whose costs the fit did not "
            message += "know; fit on all classes."
            raise SettingsError("UNKNOWN_CLASS", message, "costs")
        answers = self.tree_.predict_codes(self._encoded(X))
        of_rows = task.matrix[[place[label] for label in labels], answers]
        return float(1.0 - np.average(of_rows, weights=sample_weight))

    def predict_proba(self, X: Any) -> np.ndarray:
        """Class shares of the training rows in every row's leaf, ``(n_samples, n_classes)``.

        By the weights of rows and classes, as in scikit-learn.  `predict` gives the class with the
        largest, unless side constraints, costs or a hyperplane chose another.
        """
        shares = [self._shares[int(leaf)] for leaf in self.apply(X)]
        return np.array(shares).reshape(-1, len(self.classes_))

    def predict_log_proba(self, X: Any) -> np.ndarray:
        """Natural logarithms of `predict_proba`, ``(n_samples, n_classes)``."""
        with np.errstate(divide="ignore"):
            return np.log(self.predict_proba(X))

    def apply(self, X: Any) -> np.ndarray:
        """Leaf number of every row, shape ``(n_samples,)``."""
        encoded = self._encoded(X)
        return self.tree_.apply(encoded)

    def decision_path(self, X: Any) -> csr_matrix:
        """Nodes that every row visits.

        Parameters
        ----------
        X : array-like or table
            Raw rows, shape ``(n_samples, n_features)``.

        Returns
        -------
        scipy.sparse.csr_matrix
            Shape ``(n_samples, largest node + 1)``; entry ``(i, m)`` is 1 where row i visits node
            m, numbered as `apply` numbers leaves: the root is 1, children of m are 2m and 2m + 1.
        """
        encoded = self._encoded(X)
        visits = self.tree_.node_rows(encoded)
        rows = np.concatenate(list(visits.values()))
        nodes = np.repeat(list(visits), [len(here) for here in visits.values()])
        shape = (len(encoded), max(visits) + 1)
        return csr_matrix((np.ones(len(rows), dtype=np.int8), (rows, nodes)), shape=shape)

    @property
    def feature_importances_(self) -> np.ndarray:
        """Mean loss of the objective when a split is undone, shape ``(n_features_in_,)``.

        To undo a split is to make its node a leaf of the most frequent class there; the loss is how
        much worse the formulation's own objective then is on the training rows, side constraints
        left aside.  A feature gets the losses of the splits that test it, each by its share of the
        absolute weights there, divided by the number of splits of the tree.  In the units of the
        objective, not scaled to a sum of one; a tree without splits has zeros.
        """
        check_is_fitted(self, "tree_")
        known = self.run_.train is not None
        losses = feature_losses(self.run_.needed) if known else self._losses
        own = {name: column for column, name in self._gaps.names.items()}
        found = dict.fromkeys(self._columns, 0.0)
        for name, loss in losses.items():
            found[own.get(name, name)] += loss
        return np.array(list(found.values()))

    def _encoded(self, X: Any) -> np.ndarray:
        frame = self._frame(X)
        self.encoding_.warn_unseen(frame, self._read)
        return self.tree_.encoded(self.encoding_, frame)

    def get_depth(self) -> int:
        """Depth of the fitted tree."""
        check_is_fitted(self, "tree_")
        return self.tree_.max_depth

    def get_n_leaves(self) -> int:
        """Number of leaves of the fitted tree."""
        check_is_fitted(self, "tree_")
        return self.tree_.n_leaves

    def export(self, kind: str = "txt") -> str | bytes:
        """Write the tree for elsewhere.

        Parameters
        ----------
        kind : str
            As in `Run.export`: text, a picture, or code that predicts without this package.  With
            ``missing="branch"`` a number that had gaps is two columns there: itself, with its
            median in the gaps, and ``NAME is missing``.

        Returns
        -------
        str or bytes
            Bytes of ``"onnx"``.
        """
        check_is_fitted(self, "tree_")
        return self.run_.export(kind)

    def to_sklearn(self, encoded: bool = False) -> DecisionTreeClassifier:
        """Convert a univariate tree to scikit-learn's own classifier, for its plots and tools.

        Parameters
        ----------
        encoded : bool
            Whether the classifier takes encoded rows; raw rows otherwise.

        Returns
        -------
        sklearn.tree.DecisionTreeClassifier
            With the training rows counted at its nodes; with `refer`, asking is a class of it.

        Raises
        ------
        SettingsError
            If a split is oblique or, for raw rows, no single threshold on a column of numbers.

        Warns
        -----
        SinglePrecisionWarning
            If scikit-learn predicts training rows differently, since it rounds them to float32.
        """
        check_is_fitted(self, "tree_")
        data = self.run_.needed.train
        for name in () if encoded else data.frame.columns:
            if not pd.api.types.is_numeric_dtype(data.frame[name].dtype):
                message = f"Column {name!r} holds text, which scikit-learn's trees do not take; "
                message += "convert the tree with encoded=True."
                raise SettingsError("NOT_A_THRESHOLD", message)
        raw = None if encoded else data.frame.to_numpy(dtype=np.float64)
        X = self.encoding_.transform(data.frame)
        from octcore.tree.export.to_sklearn import to_sklearn  # sklearn.tree takes .15 s to load

        model: Any = to_sklearn(self.tree_, self.encoding_, X, data.codes, raw)
        model.classes_ = self._answers
        return model

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = self.missing == tables.BRANCH
        try:
            info = get_formulation(self._formulation_key()).info
        except SettingsError:
            return tags
        tags.classifier_tags.multi_class = info.max_classes != 2
        return tags


def seed_of(random_state: Any) -> Any:
    """Seed that a random state of scikit-learn stands for."""
    if isinstance(random_state, np.random.RandomState):
        return int(random_state.randint(2**31 - 1))
    return replace(SEED, name="random_state").check(0 if random_state is None else random_state)


def warn_unproven(run: Run) -> None:
    """Say that a fit found no proof, unless its formulation never gives one."""
    if run.is_optimal or run.certificate.method == "heuristic":
        return
    gap = "no bound" if run.gap is None else f"a gap of {run.gap:.2%}"
    warnings.warn(
        f"{run.formulation} stopped by {run.stop_reason} with {gap}: the tree is the best one "
        "found and not proven optimal; raise time_limit or simplify the problem.",
        ConvergenceWarning,
        stacklevel=3,
    )


def require_depth(max_depth: Any) -> None:
    """Refuse what is no depth, and a tree of any depth, which scikit-learn's own trees allow."""
    if max_depth is None:
        message = "max_depth=None is a tree of any depth, for which there is no proof; say how "
        message += "deep the tree may be, such as max_depth=3."
        raise SettingsError("NO_DEPTH", message, "max_depth")
    replace(DEPTH, name="max_depth").check(max_depth)


def require_two_classes(info: FormulationInfo, n_classes: int) -> None:
    """Refuse more classes than two in scikit-learn's own words, which its tools look for."""
    if info.max_classes != 2 or n_classes <= 2:
        return
    able = [i.key for i in list_formulations() if i.max_classes is None]
    message = "Only binary classification is supported. The type of the target is multiclass: "
    message += f"{info.key} separates 2 classes, y has {n_classes}; use {', '.join(able)}."
    raise SettingsError("TOO_MANY_CLASSES", message, "formulation")


def require_weights(info: FormulationInfo) -> None:
    """Refuse sample weights where the formulation has no use for them."""
    if "class_weight" in info.constraints:
        return
    able = [i.key for i in list_formulations() if "class_weight" in i.constraints]
    message = f"{info.key} does not take sample weights; {', '.join(able)} do."
    raise SettingsError("WEIGHTS_NOT_EXPRESSIBLE", message, "sample_weight")


def _value(program: Program, tree: Tree) -> float:
    value = program.evaluate(tree)
    assert value is not None, "without side constraints every tree has an objective"
    return value


def feature_losses(run: SolvedRun) -> dict[str, float]:
    """What `OptimalTreeClassifier.feature_importances_` says, by raw column of the encoding."""
    # Without the split other side constraints may not hold any more.
    weighing = {"class_weight": run.constraints.get("class_weight")}
    problem, tree = problem_of(run, constraints=weighing), run.tree
    program = get_formulation(run.formulation).build(problem)
    sign = 1.0 if program.sense is Sense.MAXIMISE else -1.0
    whole, node_rows = _value(program, tree), tree.node_rows(problem.X)
    names = run.encoding.raw_features
    found = dict.fromkeys(names, 0.0)
    for node, usage in feature_usage(tree, run.encoding.groups).items():
        rows = node_rows[node]
        shares = np.bincount(problem.y[rows], problem.weights[rows], problem.n_classes)
        undone = tree.collapse(node, int(shares.argmax()))
        loss, total = sign * (whole - _value(program, undone)), sum(usage.values())
        for raw, weight in usage.items():
            found[names[raw]] += loss / tree.n_splits * weight / total
    return found


def joined(given: Mapping[str, Any] | None, where: str, **others: Any) -> Mapping[str, Any] | None:
    """What a mapping and parameters of their own say together (``GIVEN_TWICE``)."""
    said = {name: value for name, value in others.items() if value is not None}
    for name in said:
        if name in (given or {}):
            message = f"{name} was given twice, by a parameter and in {where}; give one of them."
            raise SettingsError("GIVEN_TWICE", message, name)
    return {**(given or {}), **said} if said else given


def labelled(given: Any, classes: Sequence[Any]) -> Any:
    """A mapping by label with the labels of the data set: 1.0 and True may be 1 there."""
    own = dict(zip(classes, classes, strict=True))
    if not isinstance(given, Mapping):
        return given
    return {own.get(label, label): labelled(value, classes) for label, value in given.items()}


@at_the_door
def ways_of(
    monotonic_cst: Mapping[str, int] | Sequence[int] | None, names: Sequence[str]
) -> dict[str, str] | None:
    """Directions of columns, in the words of the constraint ``monotone``.

    Raises `SettingsError` for another number of columns, or a way that is none of -1, 0 and 1.
    """
    asked = {} if monotonic_cst is None else monotonic_cst
    if not isinstance(asked, Mapping):
        if len(asked) != len(names):
            message = f"monotonic_cst has {len(asked)} entries for {len(names)} columns."
            raise SettingsError("BAD_CONSTRAINT", message, "monotonic_cst")
        asked = dict(zip(names, asked, strict=True))
    ways = {1: "up", -1: "down", 0: ""}
    bad = next((way for way in asked.values() if way not in ways), None)
    if bad is not None:
        message = f"monotonic_cst has {bad!r}; give 1 (only up), -1 (only down) or 0."
        raise SettingsError("BAD_CONSTRAINT", message, "monotonic_cst")
    return {name: ways[way] for name, way in asked.items() if way} or None
