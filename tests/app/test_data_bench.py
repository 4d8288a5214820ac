"""The page Data as a bench: each problem with its press, each step with its way back, by a link."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from streamlit.testing.v1 import AppTest

from dashboard import session
from tests.app.history_case import open_page, shown
from tests.app.test_data_link import reloaded

WARDS = ("n/a", "Inner", "inner ", "Surgery")
TABLE = "\n".join(
    [
        "Export of the ward, as of 3.1.2024",
        "seen;age;ward;y",
        ";years;;",
        *(
            f"{1 + i % 28:02d}.02.2024;{20 + i};{WARDS[i % 4]};{'ab'[i % 3 == 1]}"
            for i in range(40)
        ),
    ]
)
HEADER = "Which line names the columns?"


def upload(content: str, name: str = "own.csv") -> AppTest:
    app = open_page("data")
    app.file_uploader[0].upload(name, content.encode(), "text/csv").run()
    assert not app.exception
    return app


def press(app: AppTest, label: str) -> None:
    next(b for b in app.button if b.label.startswith(label)).click().run()
    assert not app.exception


def lines(app: AppTest):
    return next(radio for radio in app.radio if radio.label == HEADER)


def state(app: AppTest):
    return app.session_state["state"]


def test_titles_and_units_are_shown_and_units_are_kept_at_a_press(server):
    app = upload(TABLE)
    assert lines(app).value == 2
    assert [option.replace("\\", "") for option in lines(app).options[1:4]] == [
        "2: seen · age · ward · y *(names the columns)*",
        "3: – · years *(units, left out)*",
        "4: 01.02.2024 · 20 · n/a · a",
    ]
    assert state(app).data.n_samples == 40
    assert app.expander[0].label == "First lines of the file: 2 left out"
    press(app, "Keep line 3 as a row")
    assert state(app).table.n_rows == 41
    assert "Prepared: 1 step" in shown(app)
    press(app, "line 3 is the first row")
    assert state(app).table.n_rows == 40
    assert "Prepared" not in shown(app)


def test_another_header_is_a_press_and_a_reload_keeps_it(server):
    app = upload(
        "Sales, north, 2024, final\n\n" + "shop,month,sales,y\n" + "s,1,2.5,a\nt,2,3,b\n" * 8
    )
    assert app.expander[0].proto.expanded
    lines(app).set_value(3).run()
    assert not app.exception
    now = state(app)
    assert now.data.feature_names == ("shop", "month", "sales")
    assert now.choice.target == "y"
    after = state(reloaded(app, "solve"))
    assert after.choice == now.choice
    assert after.data.frame.equals(now.data.frame)


def test_a_file_that_cannot_be_read_offers_its_lines(server):
    app = upload("Report\nx,y\n1,2,3,a\n2,3,4,b\n4,5,6,a\n5,6,7,b\n", "odd.csv")
    assert "Line 3 has 4 fields" in shown(app)
    assert re.search(r"at most \d+ MB$", app.file_uploader[0].label)
    assert app.expander[0].label == r"First lines of odd\.csv, which is not loaded"
    assert lines(app).value is None
    lines(app).set_value(6).run()
    assert "no rows below it" in shown(app)
    lines(app).set_value(3).run()
    assert state(app).data.n_samples == 3
    assert "odd.csv**, 1 KiB" in shown(app)
    assert "which is not loaded" not in [e.label for e in app.expander]
    prose = upload(
        "This is a letter, of mine,\nwritten on a rainy day, with love.\nNothing more.\n"
    )
    assert "a few lines of text, not a table" in shown(prose)
    assert not prose.radio


@pytest.mark.slow
def test_what_counts_as_empty_is_what_reading_takes_for_missing(server):
    rows = ["n/a,?,na", "n/a,?,na", "n/a,c,na", *(f"{i},{'cd'[i % 2]},b" for i in range(40))]
    app = upload("size,mark,word,y\n" + "".join(f"{r},{i % 2}\n" for i, r in enumerate(rows)))
    app.session_state["data_tabs"] = "Columns"
    table = app.run().dataframe[0].value.set_index("column")
    assert table["gaps"].to_dict() == {"size": 3, "mark": 2, "word": 0}
    assert table["distinct"].tolist() == [40, 2, 2]


def test_every_step_is_a_press_and_has_its_way_back_and_the_copied_code_has_them_all(server):
    app = upload(TABLE)
    press(app, "Read n/a in ward as missing")
    press(app, "Merge them in ward")
    press(app, "Read seen as year, month and weekday")
    now = state(app)
    assert now.data.column("ward").levels == ("(missing)", "Inner", "Surgery")
    assert "weekday of seen" in now.data.feature_names
    assert "(written “n/a”)" in shown(app).replace("\\", "")
    assert "Prepared: 3 steps" in shown(app)
    app.session_state["data_tabs"] = "Columns"
    app.run()
    table = app.dataframe[0].value.set_index("column")
    assert table.loc["ward", "examples"] == "(missing) · Inner · Surgery"
    assert bool(table.loc["weekday of seen", "use"])
    assert not table.loc["year of seen", "use"]  # it is the same in every row
    app.switch_page("screens/solve.py").run()
    script = next(block.value for block in app.code if block.value.startswith("import octcore"))
    for part in ("kinds={'seen': 'date'}", "merge=['ward']", "na_values={'ward': ('n/a',)}"):
        assert part in script
    app.switch_page("screens/data.py").run()
    press(app, "seen: date")
    press(app, "ward: n/a is missing")
    assert state(app).data.column("ward").levels == ("Inner", "Surgery", "n/a")
    assert "Prepared: 1 step" in shown(app)
    press(app, "Read all as found")
    assert "Prepared" not in shown(app)


def test_a_part_of_dates_that_is_left_out_goes_with_them(server):
    app = upload(TABLE)
    press(app, "Read seen as year, month and weekday")
    now = state(app)
    now.choice = replace(now.choice, drop=("weekday of seen",))
    app.run()
    press(app, "seen: date")
    assert state(app).choice.drop == ()
    assert "Prepared" not in shown(app)


def test_labels_that_are_missing_leave_out_their_rows(server):
    app = upload(TABLE.replace(";a\n", ";unknown\n", 5))
    assert "These rows are left out then." in shown(app)
    # In how many rows is told once, above: here of all rows, of a number like -999 of those in use.
    assert "Read unknown in y as missing" in [button.label for button in app.button]
    press(app, "Read unknown in y as missing")
    assert state(app).data.n_samples == 35
    assert state(app).data.classes == ("a", "b")


def test_a_class_that_a_change_ends_does_not_stop_the_change(server):
    app = upload("a,y\n" + "".join(f"{i},{('yes', 'Yes ', 'no')[i % 3]}\n" for i in range(30)))
    next(s for s in app.selectbox if s.label == "Class that matters").set_value("Yes").run()
    assert state(app).choice.positive_class == "Yes"
    press(app, "Merge them in y")
    assert state(app).data.classes == ("no", "yes")
    assert "The class that mattered, “Yes”, is gone" in shown(app)


def test_dates_whose_parts_have_kinds_can_be_left_out_and_predicted(monkeypatch):
    own = session.State()
    monkeypatch.setattr(session, "state", lambda: own)
    assert session.choose_upload(TABLE.encode(), "own.csv")
    for change in ({"drop": ("seen",)}, {"target": "seen"}):
        meant = {"seen": "date", "weekday of seen": "categorical"}
        assert session.change_choice(kinds=meant, drop=(), target="y"), own.problem
        assert "weekday of seen" in own.data.feature_names
        assert session.change_choice(**change), own.problem
        assert "weekday of seen" not in own.data.feature_names


def test_a_kind_comes_back_when_another_column_is_predicted_again(monkeypatch):
    own = session.State()
    monkeypatch.setattr(session, "state", lambda: own)
    rows = "".join(f"{i % 3},{'uvw'[i % 2]},{i % 4}\n" for i in range(60))
    assert session.choose_upload(f"x,y,z\n{rows}".encode(), "own.csv")
    kinds = {"x": "categorical", "z": "categorical"}
    assert session.change_choice(target="y", kinds=kinds)
    for target in ("x", "z", "y"):
        assert session.change_choice(target=target), own.problem
        assert own.choice is not None
        assert own.choice.kinds == {k: v for k, v in kinds.items() if k != target}
    assert own.data.column("x").kind == "categorical"


def test_rows_of_a_run_name_no_steps_that_nobody_took_and_keep_the_class_that_matters(server):
    app = upload("a,b,y\n" + "".join(f"{i % 9},{i * 1.5},{'uvw'[i % 3]}\n" for i in range(60)))
    next(s for s in app.selectbox if s.label == "Class that matters").set_value("v").run()
    press(app, "Find an optimal tree")
    app.query_params.pop("data", None)
    fresh = reloaded(app)
    assert "Prepared" not in shown(fresh)
    assert state(fresh).choice.positive_class == "v"
    assert state(fresh).data.frame.equals(state(app).data.frame)
    next(s for s in fresh.selectbox if s.label == "Class that matters").set_value("w").run()
    fresh.query_params.pop("run", None)
    again = reloaded(fresh)
    assert state(again).choice == state(fresh).choice
    assert state(again).choice.positive_class == "w"
    assert state(again).data.frame.equals(state(app).data.frame)
