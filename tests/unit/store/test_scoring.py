"""New rows through a stored model: what is predicted, and what is said about the columns."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest

from octcore.data import arrays
from octcore.data.reading import read_csv, read_table
from octcore.data.samples import load_sample
from octcore.encoding import base
from octcore.errors import DataError
from octcore.solving.solve import solve
from octcore.store.models import load_model, model_to_dict, score
from octcore.tree.metrics import node_summaries


@pytest.fixture(scope="module")
def finches():
    run = solve(load_sample("finches"), "cart", depth=3)
    assert run.train is not None
    return run, load_model(model_to_dict(run))


def leaf_counts(run):
    X = run.encoding.transform(run.train.frame)
    return {m: s.class_counts for m, s in node_summaries(run.tree, X, run.train.y).items()}


def raw_rows(run) -> pd.DataFrame:
    labels = [str(run.train.classes[k]) for k in run.train.y]
    return run.train.frame.astype(str).assign(**{run.train.target_name: labels})


def test_training_rows_score_as_the_run_says(finches):
    run, model = finches
    scored = score(model, raw_rows(run), leaf_counts(run))
    assert scored.accuracy == pytest.approx(run.accuracy)
    assert scored.n_judged == run.n_train
    assert scored.findings == ()
    # A calibrated tree: the mean confidence on its own training rows is its accuracy.
    assert scored.confidence is not None
    assert scored.confidence.mean() == pytest.approx(run.accuracy)
    X = run.encoding.transform(run.train.frame)
    assert (scored.leaves == run.tree.apply(X)).all()


def test_all_missing_columns_are_in_one_sentence(finches):
    run, model = finches
    rows = raw_rows(run).drop(columns=["beak length (mm)", "weight (g)"])
    with pytest.raises(DataError, match=r"lack 2 columns.*beak length.*weight") as caught:
        score(model, rows)
    assert caught.value.message.count(". ") == 0
    with pytest.raises(DataError, match="did you mean “weight”"):
        score(model, raw_rows(run).rename(columns={"weight (g)": "weight"}))


def test_only_the_columns_that_the_tree_tests_are_asked_for(finches):
    run, model = finches
    tested = {run.encoding.columns[j].raw for j in run.tree.used_features}
    assert {column.name for column in model.needed} == tested < set(run.train.feature_names)
    rows = raw_rows(run)
    scored = score(model, rows[[*tested, run.train.target_name]], leaf_counts(run))
    assert (scored.labels == score(model, rows, leaf_counts(run)).labels).all()


def test_extra_columns_and_unknown_categories_are_remarks():
    limits = {"root_feature": "habitat"}
    run = solve(load_sample("finches"), depth=1, constraints=limits)
    model = load_model(model_to_dict(run))
    rows = raw_rows(run).assign(note="=1+1")
    rows.loc[:2, "habitat"] = "moon"
    scored = score(model, rows)
    assert scored.extra == ("note",)
    assert [finding.column for finding in scored.warnings] == ["habitat"]
    first, second = scored.findings
    assert (
        "3 rows of column “habitat” have a value that never came up in training (“moon”)" in first
    )
    assert "“note” is not a column of the model" in second
    assert scored.confidence is None


def test_labels_that_are_unknown_do_not_count(finches):
    run, model = finches
    rows = raw_rows(run)
    rows.loc[:3, run.train.target_name] = ["", "dodo", "?", "dodo"]
    scored = score(model, rows)
    assert scored.n_judged == run.n_train - 4
    assert "4 rows with no label" in scored.findings[0]
    without = score(model, rows.drop(columns=run.train.target_name))
    assert without.accuracy is None
    assert without.right is None


def test_whole_number_labels_match_however_they_are_written():
    run = solve(load_sample("monks-1"), "cart", depth=2)
    model = load_model(model_to_dict(run))
    assert run.train is not None
    assert run.train.y is not None
    labels = [f"{run.train.classes[k]}.0" for k in run.train.y]
    rows = run.train.frame.assign(**{str(run.train.target_name): labels})
    assert score(model, rows).accuracy == pytest.approx(run.accuracy)


def test_new_columns_never_replace_those_of_the_file(finches):
    run, model = finches
    rows = raw_rows(run).assign(prediction="mine")
    table = score(model, rows, leaf_counts(run)).table()
    assert (table["prediction"] == "mine").all()
    assert set(table["prediction_"]) <= {str(c) for c in run.train.classes}
    assert list(table.columns[-3:]) == ["prediction_", "confidence", "leaf"]


def test_leaf_without_training_rows_has_no_confidence(finches):
    run, model = finches
    empty = {leaf: [0] * len(run.train.classes) for leaf in run.tree.labels}
    confidence = score(model, raw_rows(run), empty).confidence
    assert confidence is not None
    assert all(math.isnan(value) for value in np.unique(confidence))


def test_rows_with_an_empty_cell_are_left_without_a_prediction(finches):
    run, model = finches
    rows = raw_rows(run)
    rows.loc[[2, 5], "wing length (mm)"] = ["", "k.A."]
    scored = score(model, rows, leaf_counts(run))
    assert len(scored.labels) == scored.n_judged == len(rows) - 2
    assert (
        "2 rows without a usable value in a column that is needed (rows 3, 6)" in scored.findings[0]
    )
    table = scored.table()
    assert len(table) == len(rows)
    assert table[["prediction", "confidence", "leaf"]].iloc[[2, 5]].isna().all(axis=None)
    whole = score(model, raw_rows(run)).table(("leaf",))["leaf"]
    assert (table["leaf"].drop([2, 5]) == whole.drop([2, 5])).all()
    rows.loc[7, "wing length (mm)"] = "6o.5"
    with pytest.raises(DataError, match=r"Row 8 .*6o\.5"):
        score(model, rows)


def test_labels_are_known_as_the_file_writes_them():
    rows = (f"{i},{'very  good' if i < 9 else 'cafe' + chr(0x301)}\n" for i in range(18))
    content = f"x,y\n{''.join(rows)}".encode()
    run = solve(read_csv(content, target="y"), "cart", depth=1)
    scored = score(load_model(model_to_dict(run)), read_table(content).frame())
    assert scored.accuracy == 1.0
    assert scored.findings == ()


def test_a_label_is_known_by_its_number():
    content = "x,y\n" + "".join(f"{i},{1.5 if i < 9 else 2.5}\n" for i in range(18))
    run = solve(read_csv(content.encode(), target="y"), "cart", depth=1)
    rows = read_table(content.replace(".5", ".50").encode()).frame()
    assert score(load_model(model_to_dict(run)), rows).accuracy == 1.0


def test_numbers_that_are_names_are_read_as_in_training():
    codes = ("1.0", "2", "3.0", "NA")
    content = ("x,y\n" + "".join(f"{c},{'ab'[c < '3']}\n" for c in codes * 9)).encode()
    data = read_csv(content, target="y", kinds={"x": "categorical"}, missing="category")
    assert data.column("x").levels == ("(missing)", "1", "2", "3")
    model = load_model(model_to_dict(solve(data, "cart", depth=3)))
    scored = score(model, read_table(content).frame())
    assert scored.accuracy == 1.0
    assert scored.findings == ()


@pytest.mark.parametrize("at_training", [".", ","])
def test_rows_with_the_other_decimal_mark_are_read_by_it_and_that_is_said(at_training):
    """1.250 from a file with decimal points is no 1,250 where commas were decimal at training."""
    there = {".": ",", ",": "."}[at_training]
    values = [(f"{i % 9}.5", f"{i % 4 + 1}.250") for i in range(40)]
    rows = [f"{a};{b};{'xy'[float(b) > 2 and float(a) > 3]}" for a, b in values]
    text = "a;b;y\n" + "\n".join(rows).replace(".", at_training)
    run = solve(read_csv(text.encode(), target="y"), depth=2, test_size=0.0)
    assert run.accuracy == 1
    model = load_model(model_to_dict(run))
    scored = score(model, read_table(text.replace(at_training, there).encode()).frame())
    assert scored.accuracy == 1
    assert "decimal mark of “a”, “b”" in scored.findings[0]
    assert not score(model, read_table(text.encode()).frame()).findings


def test_rows_are_encoded_as_far_as_a_tree_tests_them(monkeypatch):
    run = solve(load_sample("finches"), "cart", depth=1)
    used, tested = list(run.tree.used_features), run.encoding.tested(run.tree.used_features)
    whole, seen = base.encoded_block, []
    assert len(tested) < len(run.encoding.raw_features)
    X = run.tree.encoded(run.encoding, run.train.frame)
    assert X.shape == (run.n_train, len(run.encoding.columns))
    assert (X[:, used] == run.encoding.transform(run.train.frame)[:, used]).all()

    def block(columns, values, raw):
        seen.append(raw)
        return whole(columns, values, raw)

    monkeypatch.setattr(base, "encoded_block", block)
    assert run.accuracy_on(run.train) == run.accuracy
    assert len(run.rules()) == 2
    assert (run.predict(run.train.frame) == run.tree.predict(X)).all()
    assert set(seen) == set(tested)


def test_a_cell_that_comes_again_is_read_once(finches, monkeypatch):
    run, model = finches
    rows = raw_rows(run)
    rows = pd.concat([rows] * 3, ignore_index=True).astype("str")
    asked, write = [], arrays.as_text
    monkeypatch.setattr(arrays, "as_text", lambda cell: asked.append(cell) or write(cell))
    assert score(model, rows).accuracy == pytest.approx(run.accuracy)
    assert len(asked) <= len(model.needed) * run.n_train
