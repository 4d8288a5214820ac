"""What users of scikit-learn bring: tables of three libraries, gaps, weights; and what they ask."""

from __future__ import annotations

import io
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_matrix
from sklearn.model_selection import GridSearchCV

import octcore
from octcore.docs import class_types
from octcore.errors import DataError, SettingsError
from octcore.estimator.named import GENERAL
from octcore.formulations.base import list_formulations

NARROW = [info for info in list_formulations() if info.key != "cart"]


def _named(info: Any, **settings: Any) -> Any:
    return getattr(octcore, info.class_name)(**settings)


@pytest.fixture
def table() -> tuple[pd.DataFrame, np.ndarray]:
    rng = np.random.default_rng(7)
    frame = pd.DataFrame(
        {
            "size": pd.Categorical(
                rng.choice(["small", "medium", "large"], 60), ["small", "medium", "large"], True
            ),
            "colour": rng.choice(["red", "blue", "?"], 60),
            "rooms": rng.integers(1, 5, 60),
            "price": rng.normal(size=60).round(3),
        }
    )
    return frame, np.where((frame["size"] == "large") | (frame["price"] > 0.4), "yes", "no")


def _polars(frame: pd.DataFrame) -> Any:
    polars = pytest.importorskip("polars", reason="polars is not installed")
    order = list(frame["size"].cat.categories)
    columns = {name: frame[name].tolist() for name in frame.columns}
    return polars.DataFrame(columns, schema_overrides={"size": polars.Enum(order)})


def _arrow(frame: pd.DataFrame) -> Any:
    arrow = pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    return arrow.Table.from_pandas(frame.astype({"size": str}))


@pytest.mark.parametrize("convert", [_polars, _arrow])
def test_tables_of_other_libraries_give_the_same_tree(table: Any, convert: Any) -> None:
    frame, y = table
    other = convert(frame)
    kinds = {"size": "ordinal:small<medium<large"}
    ours = octcore.OptimalTreeClassifier(kinds=kinds).fit(frame, y)
    theirs = octcore.OptimalTreeClassifier(kinds=kinds).fit(other, y)
    assert theirs.tree_ == ours.tree_
    assert list(theirs.feature_names_in_) == list(frame.columns)
    assert (theirs.predict(other) == ours.predict(frame)).all()


def test_the_same_table_is_typed_alike_from_a_file_and_from_a_frame(table: Any) -> None:
    frame, y = table
    text = frame.assign(colour=frame["colour"].replace("?", "green"), target=y).to_csv(index=False)
    read = octcore.read_csv(io.BytesIO(text.encode()), target="target")
    again = pd.read_csv(io.StringIO(text)).drop(columns="target")
    model = octcore.OptimalTreeClassifier(max_depth=1).fit(again, y)
    assert model.run_.train is not None
    found = {column.name: (column.kind, column.levels) for column in model.run_.train.columns}
    assert found == {column.name: (column.kind, column.levels) for column in read.columns}
    assert found["rooms"] == ("numeric", ())
    own = octcore.OptimalTreeClassifier(max_depth=1, kinds={"rooms": "categorical"}).fit(again, y)
    assert own.run_.train.column("rooms").levels == ("1", "2", "3", "4")


KINDS = {
    "unordered": "categorical",
    "codes": "categorical",
    "ordered": "ordinal",
    "whole": "numeric",
    "floats": "numeric",
    "two": "binary",
    "text": "categorical",
    "flag": "binary",
}


def _every_kind() -> pd.DataFrame:
    n = np.arange(24)
    sizes = np.array(["small", "medium", "large"])[n % 3]
    return pd.DataFrame(
        {
            "unordered": pd.Categorical(sizes),
            "codes": pd.Categorical(n % 4),
            "ordered": pd.Categorical(sizes, ["small", "medium", "large"], ordered=True),
            "whole": n % 5,
            "floats": (n % 6).astype(float),
            "two": n % 2,
            "text": sizes,
            "flag": n % 2 == 0,
        }
    )


def _every_kind_of_polars() -> Any:
    polars = pytest.importorskip("polars", reason="polars is not installed")
    frame = _every_kind()
    order = polars.Enum(["small", "medium", "large"])
    kinds = {"unordered": polars.Categorical, "codes": polars.Categorical, "ordered": order}
    text = {name: frame[name].astype(str).tolist() for name in kinds}
    return polars.DataFrame({**frame.to_dict("list"), **text}, schema_overrides=kinds)


def _every_kind_of_arrow() -> Any:
    arrow = pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    return arrow.Table.from_pandas(_every_kind())


@pytest.mark.parametrize(
    "make",
    [
        _every_kind,
        lambda: _every_kind().convert_dtypes(),
        _every_kind_of_polars,
        _every_kind_of_arrow,
    ],
    ids=["pandas", "nullable", "polars", "arrow"],
)
def test_only_text_truth_values_and_marked_columns_are_unordered(make: Any) -> None:
    y = np.arange(24) % 5 > 2
    model = octcore.OptimalTreeClassifier(max_depth=1).fit(make(), y)
    assert {column.name: column.kind for column in model.run_.train.columns} == KINDS
    assert model.score(make(), y) == 1.0


@pytest.mark.parametrize(
    "make",
    [
        lambda cells: np.array(cells)[:, None],
        lambda cells: np.array(cells, dtype=np.uint64)[:, None],
        lambda cells: np.array(cells, dtype=object)[:, None],
        lambda cells: [[cell, 0.5] for cell in cells],
        lambda cells: pd.DataFrame({"x": cells}),
        lambda cells: pd.DataFrame({"x": pd.array(cells, dtype="Int64")}),
        lambda cells: pd.DataFrame({"x": pd.Series(cells, dtype=object), "t": "abcd"}),
        lambda cells: pytest.importorskip("pyarrow").table({"x": cells}),
        lambda cells: pytest.importorskip("polars").DataFrame({"x": cells}),
    ],
)
def test_whole_numbers_that_floats_would_merge_are_refused(make: Any) -> None:
    y = [0, 1, 0, 1]
    good, bad = make([0, 1, 2**53, 2**53 + 2]), make([0, 1, 2**53, 2**53 + 1])
    model = octcore.OptimalTreeClassifier(max_depth=1).fit(good, y)
    for ask in (model.predict, lambda X: octcore.OptimalTreeClassifier().fit(X, y)):
        with pytest.raises(DataError, match=r"Row 4 .* has 9007199254740993") as caught:
            ask(bad)
        assert caught.value.code == "PRECISION_LOST"


def test_ordered_categories_keep_their_order_and_a_question_mark_is_a_text(table: Any) -> None:
    frame, y = table
    model = octcore.OptimalTreeClassifier(max_depth=2).fit(frame, y)
    assert model.run_.train.column("size").levels == ("small", "medium", "large")
    assert "?" in model.run_.train.column("colour").levels
    assert model.score(frame, y) == 1.0
    new = frame.head(3).assign(colour=["?", "violet", "red"])
    with pytest.warns(UserWarning, match="“violet”"):
        assert (model.predict(new) == model.predict(frame.head(3))).all()


def test_missing_values_are_refused_or_a_branch_of_their_own(table: Any) -> None:
    frame, _ = table
    gone = np.arange(60) % 4 == 0
    holes = frame.assign(
        price=frame["price"].mask(gone), size=frame["size"].where(np.arange(60) % 7 != 0)
    )
    y = gone.astype(int)
    with pytest.raises(DataError, match="missing"):
        octcore.OptimalTreeClassifier().fit(holes, y)
    with pytest.raises(ValueError, match=r"NaN.*missing='branch'"):
        octcore.OptimalTreeClassifier().fit(holes[["price"]], y)
    for X in (holes, holes[["price"]], holes[["price"]].to_numpy()):
        model = octcore.OptimalTreeClassifier(max_depth=1, missing="branch").fit(X, y)
        assert model.score(X, y) == 1.0
        assert model.n_features_in_ == np.shape(X)[1]
        used = model.feature_importances_
        assert used.shape == (model.n_features_in_,)
        assert used[-1] == used.max() > 0
    sizes = model = octcore.OptimalTreeClassifier(max_depth=2, missing="branch").fit(holes, y)
    assert sizes.run_.train.column("size").levels[0] == "(missing)"
    with pytest.raises(SettingsError, match="'refuse', 'branch'"):
        octcore.OptimalTreeClassifier(missing="drop").fit(frame, y)
    assert model.__sklearn_tags__().input_tags.allow_nan


@pytest.mark.filterwarnings("ignore:.*holds dates:UserWarning")
def test_gaps_count_as_the_median_of_rows_that_have_a_weight() -> None:
    values, weights = [1.0, 2.0, 3.0, np.nan, 99.0, 98.0], np.array([1, 1, 1, 1, 0, 0])
    frame = pd.DataFrame({"a": values, "day": pd.to_datetime(values, unit="D")})
    model = octcore.OptimalTreeClassifier(max_depth=1, missing="branch")
    for column, place in (frame[["a"]], "a"), (frame[["day"]], "day"):
        model.fit(column, [0, 0, 1, 1, 0, 1], weights)
        counted = model.run_.needed.train.frame[place].tolist()
        assert counted[3] == counted[1]


@pytest.mark.filterwarnings("ignore:.*holds dates:UserWarning")
def test_dates_and_truth_values_may_have_gaps() -> None:
    """They were taken for objects, every day a category of its own."""
    days = pd.date_range("2026-01-01", periods=40).to_series(index=range(40))
    holes = days.where(days.index % 5 > 0)
    known = pd.array([True, False] * 20, dtype="boolean")
    known[:2] = pd.NA
    frame = pd.DataFrame({"day": holes, "known": known})
    y = ((frame.index >= 20) | (frame.index % 5 == 0)).astype(int)
    model = octcore.OptimalTreeClassifier(missing="branch").fit(frame, y)
    assert model.run_.train.column("day").kind == "numeric"
    assert model.run_.train.column("known").levels == ("(missing)", "False", "True")
    assert model.score(frame, y) == 1.0
    texts = holes.astype(str).where(holes.notna(), None)
    for same in (holes.dt.tz_localize("UTC"), texts):
        assert model.score(frame.assign(day=same), y) == 1.0


def test_a_table_without_rows_or_labels_is_refused_in_words(table: Any) -> None:
    frame, _ = table
    with pytest.raises(ValueError, match="requires y"):
        octcore.OptimalTreeClassifier().fit(frame, None)
    with pytest.raises(DataError, match="no rows"):
        octcore.OptimalTreeClassifier().fit(frame.iloc[:0], [])


@pytest.mark.parametrize("nothing", [np.nan, None, pd.NaT, pd.NA])
def test_a_column_without_any_value_tells_nothing(table: Any, nothing: Any) -> None:
    """It was refused as missing, as a fold of a cross-validation may well have it."""
    frame, y = table
    holes = frame.assign(empty=pd.Series([nothing] * len(frame)))
    model = octcore.OptimalTreeClassifier(max_depth=2, missing="branch").fit(holes, y)
    assert model.score(holes.assign(empty=frame["price"]), y) == model.score(holes, y) == 1.0
    bare = np.full((len(y), 1), np.nan)
    alone = octcore.OptimalTreeClassifier(monotonic_cst=np.ones(1), missing="branch").fit(bare, y)
    assert (alone.predict(bare) == alone.predict(np.ones_like(bare))).all()


def test_gaps_that_training_had_not_are_refused_later(table: Any) -> None:
    frame, y = table
    model = octcore.OptimalTreeClassifier(max_depth=1, missing="branch").fit(frame, y)
    with pytest.raises(DataError, match="price"):
        model.predict(frame.assign(price=np.nan))


@pytest.mark.parametrize("labels", [[0, 1, 0, 1], [False, True, False, True]])
def test_whole_numbers_and_truth_values_stay_such(labels: list[Any]) -> None:
    frame, plain = pd.DataFrame({"a": [1.0, 2.0, 1.0, 2.0]}), np.array(labels)
    nullable = "boolean" if plain.dtype == bool else "Int64"
    for y in (pd.Series(labels, dtype=nullable), pd.array(labels, nullable), plain.astype(object)):
        model = octcore.OptimalTreeClassifier("cart", max_depth=1).fit(frame, y)
        assert model.classes_.dtype == model.predict(frame).dtype == plain.dtype
        assert model.predict(frame).tolist() == labels


def test_a_table_that_is_not_there_yet_is_refused_in_words() -> None:
    polars = pytest.importorskip("polars")
    rows = polars.LazyFrame({"a": [1.0, 2.0]})
    with pytest.raises(DataError, match="collect it first"):
        octcore.OptimalTreeClassifier("cart").fit(rows, ["p", "q"])


def test_no_rows_have_no_shares_of_every_class() -> None:
    frame = pd.DataFrame({"a": ["u", "v", "w"]})
    model = octcore.OptimalTreeClassifier("cart").fit(frame, ["p", "q", "q"])
    assert model.predict_proba(frame[:0]).shape == (0, 2)


def test_dates_and_objects_are_warned_about() -> None:
    days = pd.date_range("2026-01-01", periods=20).to_series(index=range(20))
    frame = pd.DataFrame({"day": days, "pair": [(i % 2, 0) for i in range(20)]})
    y = (frame.index >= 12).astype(int)
    with pytest.warns(UserWarning, match="dates") as caught:
        model = octcore.OptimalTreeClassifier(max_depth=1).fit(frame, y)
    assert any("objects (tuple)" in str(one.message) for one in caught)
    assert model.score(frame, y) == 1.0


def test_numbers_that_are_texts_are_warned_about() -> None:
    """Iris as texts was right for .61 of the rows where .96 are, and nothing was said."""
    numbers = pd.DataFrame({"x": np.arange(20) / 4})
    texts, y = numbers.astype(str), (numbers["x"] > 2).astype(int)
    with pytest.warns(UserWarning, match="holds numbers as texts"):
        octcore.OptimalTreeClassifier(max_depth=1).fit(texts, y)
    quiet = [{"x": "categorical"}, {"x": "ordinal"}]
    for frame, kinds in (*((texts, kind) for kind in quiet), (texts.astype("category"), None)):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            octcore.OptimalTreeClassifier(max_depth=1, kinds=kinds).fit(frame, y)


def test_labels_in_a_column_have_costs() -> None:
    X, y = np.arange(8.0)[:, None], pd.DataFrame({"y": [0, 0, 1, 0, 1, 1, 0, 1]})
    model = octcore.OptimalTreeClassifier("cart", max_depth=1, costs={0: {1: 2.0}})
    model.fit(X, y["y"])
    assert model.score(X, y) == model.score(X, y["y"]) < 1.0


def test_what_there_is_no_tree_for_is_refused_in_words() -> None:
    X, y = np.eye(4), np.array([0, 1, 0, 1])
    with pytest.raises(SettingsError, match="how deep"):
        octcore.OptimalTreeClassifier(max_depth=None).fit(X, y)  # type: ignore[arg-type]
    with pytest.raises(SettingsError, match="max_depth must be"):
        octcore.OptimalTreeClassifier(max_depth=-1).fit(X, y)
    wrongs = (("monotonic_cst", 3), ("kinds", "x"), ("random_state", -1), ("max_leaf_nodes", 0))
    for name, wrong in wrongs:
        with pytest.raises(SettingsError, match=f"{name} must be a"):
            octcore.OptimalTreeClassifier().set_params(**{name: wrong}).fit(pd.DataFrame(X), y)
    with pytest.raises(TypeError, match="parse"):
        octcore.OptimalTreeClassifier().fit(csr_matrix(X), y)
    with pytest.raises(SettingsError, match="no feature column"):
        octcore.OptimalTreeClassifier().fit(pd.DataFrame(X)[[]], y)
    texts = X.astype(str)
    with pytest.raises(ValueError, match=r"give texts in a table, such as a pandas\.DataFrame"):
        octcore.OptimalTreeClassifier().fit(np.char.add(texts, "kg"), y)
    with pytest.raises(SettingsError, match="class_weight was given twice"):
        octcore.OptimalTreeClassifier(
            class_weight="balanced", constraints={"class_weight": "balanced"}
        ).fit(X, y)


def test_class_weight_is_the_side_constraint_of_that_name(table: Any) -> None:
    frame, y = table
    weights = {"yes": 30.0, "no": 1.0}
    plain = octcore.OptimalTreeClassifier(max_depth=1).fit(frame, y)
    model = octcore.OptimalTreeClassifier(max_depth=1, class_weight=weights).fit(frame, y)
    other = octcore.OptimalTreeClassifier(max_depth=1, constraints={"class_weight": weights})
    assert model.tree_ == other.fit(frame, y).tree_
    assert (model.predict(frame)[y == "yes"] == "yes").all()
    assert model.tree_ != plain.tree_


def test_grid_search_over_a_parameter_of_the_class(table: Any) -> None:
    frame, y = table
    search = GridSearchCV(
        octcore.PathSearchClassifier(max_depth=2), {"leaf_penalty": [0.001, 0.9]}, cv=2
    ).fit(frame, y)
    assert search.best_params_ == {"leaf_penalty": 0.001}


def test_paths_leaves_and_logarithms_agree(table: Any) -> None:
    frame, y = table
    model = octcore.OptimalTreeClassifier(max_depth=2).fit(frame, y)
    path, leaves = model.decision_path(frame), model.apply(frame)
    assert path.shape[0] == 60
    assert (path[np.arange(60), leaves] == 1).all()
    assert (np.asarray(path[:, 1].todense()) == 1).all()
    encoded = model.encoding_.transform(model.run_.train.frame)
    for row in range(5):
        assert tuple(np.flatnonzero(path[row].toarray()[0])) == model.tree_.decision_path(
            encoded[row]
        )
    assert np.exp(model.predict_log_proba(frame)) == pytest.approx(model.predict_proba(frame))


def test_a_class_loads_the_formulation_that_it_names_and_no_other() -> None:
    code = (
        "import sys, octcore\n"
        "first = octcore.ThresholdSearchClassifier(max_depth=1).fit([[0.0], [1.0]], [0, 1])\n"
        "assert not {'pyomo', 'sklearn.tree', 'octcore.formulations.oct'} & set(sys.modules)\n"
        "assert octcore.SFSMargotClassifier()._formulation_key() == 'sfs-margot'\n"
        "assert octcore.OCTBinaryClassifier.__name__ == 'OCTBinaryClassifier'\n"
        "assert 'octcore.formulations.s_oct' not in sys.modules\n"
        "assert not hasattr(octcore, 'UnknownClassifier')\n"
        "assert 'octcore.formulations.s_oct' in sys.modules\n"
        "import octcore.selection.protocols\n"  # what the app starts with waits for no machines
        "assert not {'sklearn.svm', 'sklearn.tree', 'sklearn.model_selection'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=120)


BUILD = """
import sys, types
for name in ("hatchling", "builders", "hooks", "plugin", "interface"):
    name = name if name == "hatchling" else f"{last}.{name}"
    sys.modules[name] = module = types.ModuleType(name)
    last = name
module.BuildHookInterface = object
sys.path.insert(0, sys.argv[1] + "/octcore/docs")
import build
print(build.types_without_libraries(sys.argv[1]), end="")
assert "octcore" not in sys.modules and not {"numpy", "pyomo"} & set(sys.modules)
assert not any(type(finder).__module__ == "build" for finder in sys.meta_path)
"""


def test_editors_know_every_class_with_its_parameters() -> None:
    """What the build writes without a library is what the declarations say with all of them."""
    root = str(Path(octcore.__file__).parents[1])
    command = [sys.executable, "-I", "-S", "-c", BUILD, root]
    built = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert built == class_types.types_of_classes()
    assert built.count("(OptimalTreeClassifier):") == len(list_formulations())
    assert {info.class_name for info in list_formulations()} <= set(dir(octcore))
    for info in list_formulations():
        names = [p.name for p in (*GENERAL, *info.hyperparameters)]
        assert len(names) == len(set(names))


@pytest.mark.sampled(3)
@pytest.mark.parametrize("info", NARROW, ids=lambda info: info.key)
def test_importances_are_losses_of_the_objective(info: Any) -> None:
    """The column that decides alone has the whole loss, in every formulation's own units."""
    rng = np.random.default_rng(3)
    X = rng.random((24, 3))
    X[:, 1] += (np.arange(24) % 2) * 2.0
    model = _named(info, max_depth=1, time_limit=20.0).fit(X, np.arange(24) % 2)
    found = model.feature_importances_
    assert found.shape == (3,)
    assert found.argmax() == 1
    assert found[1] > 0


def test_importance_is_the_mean_over_splits_of_what_undoing_costs(table: Any) -> None:
    frame, y = table
    model = octcore.OptimalTreeClassifier(max_depth=2, params={"leaf_penalty": 0.01}).fit(frame, y)
    tree, train = model.tree_, model.run_.train
    X = model.encoding_.transform(train.frame)

    def objective(one: Any) -> float:
        return (one.predict_codes(X) == train.y).mean() - 0.01 * one.n_leaves

    expected = 0.0
    for node in tree.splits:
        here = tree.node_rows(X)[node]
        leaf = tree.collapse(node, int(np.bincount(train.y[here]).argmax()))
        expected += (objective(tree) - objective(leaf)) / tree.n_splits
    assert model.feature_importances_.sum() == pytest.approx(expected)
    assert model.objective_ == pytest.approx(objective(tree))
