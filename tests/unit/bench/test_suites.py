"""Runner, suites, published tables and profiles of `octcore bench`."""

from __future__ import annotations

import csv
import json
import multiprocessing
from dataclasses import replace
from itertools import product
from pathlib import Path

import numpy as np
import pytest

from octcore.bench.data_files import check_files, data_folder, encoded, table
from octcore.bench.profiles import (
    common_lines,
    instances_against_gap,
    read_bench,
    solved_against_time,
    summary,
)
from octcore.bench.runner import existing_keys, in_this_process, run_suite
from octcore.bench.suite import (
    COLUMNS,
    Instance,
    Line,
    Published,
    get_suite,
    list_suites,
    of_datasets,
    pick,
    published,
)
from octcore.bench.suites import flow_oct, svm1_odt
from octcore.bench.suites.accelerated import instances as accelerated
from octcore.cli import main
from octcore.cli.benching import _seeded
from octcore.data.dataset import Dataset
from octcore.errors import DataError, SettingsError
from octcore.selection.protocols import folds
from octcore.solving.settings import check_settings
from tests.bench.rivals import machines_suite
from tests.bench.rivals.peers import PEERS, Peer, run_peer

SEED = 77
AGREED = (
    "suite", "dataset", "encoding", "formulation", "depth", "parameters", "status", "objective",
    "bound", "gap", "seconds", "accuracy", "reference_objective", "reference_gap",
    "reference_seconds",
)  # fmt: skip


def small() -> Dataset:
    rng = np.random.default_rng(SEED)
    X = rng.integers(0, 2, (40, 4))
    return Dataset.from_arrays(X, X[:, 0] ^ X[:, 1], name="xor")


def instance(formulation: str = "path-search", **changes) -> Instance:
    plain = Instance(
        dataset="xor",
        encoding="none",
        formulation=formulation,
        depth=2,
        load=small,
        settings={"encoding": "none", "params": {"leaf_penalty": 0.01}},
        published=Published(0.96, 0.0, 1.5),
    )
    return replace(plain, **changes)


def line(**changes) -> dict[str, str]:
    blank = Line("s", "d", "none", "flow-oct", 2, "leaf_penalty=0.01", "optimal")
    return replace(blank, **changes).cells()


def test_the_first_columns_are_those_that_scripts_rely_on():
    assert len(AGREED) == 15
    assert COLUMNS[:15] == AGREED


@pytest.mark.slow
def test_runner_writes_the_columns_and_resumes(tmp_path):
    output = tmp_path / "out" / "bench.csv"
    rows = (tuple(range(20)), tuple(range(20, 30)), tuple(range(30, 40)))
    chosen = instance(rows=rows, grid=({"leaf_penalty": 0.3}, {"leaf_penalty": 0.02}), label="cut")
    plain = instance()
    seen: list[tuple[int, int]] = []
    first = run_suite(
        "unit", [plain], 20, output, lambda _, done, total: seen.append((done, total))
    )
    again = run_suite("unit", [plain, chosen], 20, output)
    assert [entry.status for entry in (*first, *again)] == ["optimal", "optimal"]
    assert seen == [(1, 1)]
    with output.open() as stream:
        lines = list(csv.DictReader(stream))
    assert tuple(lines[0]) == COLUMNS
    assert [entry["parameters"] for entry in lines] == [
        "leaf_penalty=0.01",
        "cut leaf_penalty=0.01",
    ]
    assert float(lines[0]["objective"]) == pytest.approx(1 - 4 * 0.01)
    assert float(lines[0]["reference_seconds"]) == 1.5
    assert lines[0]["test_accuracy"] == ""
    assert float(lines[1]["test_accuracy"]) == 1.0
    assert lines[1]["note"] == "chosen: leaf_penalty=0.02"
    assert run_suite("unit", [plain, chosen], 20, output) == []


def test_a_place_that_takes_no_lines_is_refused_before_the_first_solve(tmp_path):
    other = tmp_path / "other.csv"
    other.write_bytes(b"\xff\xfe\x00")
    for place, words in ((other, "is no output"), (tmp_path, "cannot be written")):
        with pytest.raises(SettingsError, match=words):
            run_suite("unit", [instance()], 20, place, solver=lambda *_: pytest.fail("solved"))


@pytest.mark.long
def test_half_a_line_is_solved_again_and_other_files_are_left_alone(tmp_path):
    output = tmp_path / "bench.csv"
    output.write_text(",".join(COLUMNS) + "\nunit,xor,none,path-search,2,leaf")
    assert existing_keys(output) == set()
    entries = run_suite("unit", [instance()], 20, output)
    assert entries[0].status == "optimal"
    lines = read_bench(output)
    assert [entry["status"] for entry in lines] == ["optimal"]
    other = tmp_path / "other.csv"
    other.write_text("a,b\n1,2\n")
    with pytest.raises(SettingsError, match="no output of octcore bench"):
        run_suite("unit", [instance()], 20, other)
    assert other.read_text() == "a,b\n1,2\n"


def test_refused_settings_become_a_line_with_the_reason():
    entry = run_suite("unit", [instance("margot", settings={"params": {"C_upper": -1}})], 5)[0]
    assert entry.status == "refused"
    assert "C_upper" in entry.note


def test_a_program_that_is_not_installed_is_skipped_in_words(monkeypatch):
    absent = Peer(
        "absent", "Absent", "no_such_module", "pip install absent", PEERS["pystreed"].solve
    )
    monkeypatch.setitem(PEERS, "absent", absent)
    entry = run_suite("unit", [instance("absent", program=run_peer)], 5)[0]
    assert entry.status == "missing"
    assert entry.note == "Absent is not installed; pip install absent."


@pytest.mark.slow
def test_cart_as_a_peer_is_judged_by_our_objective():
    blank = Line("unit", "xor", "none", "sklearn-cart", 2, "", "missing")
    before = {child.pid for child in multiprocessing.active_children()}  # workers of other tests
    entry = run_peer(instance("sklearn-cart"), blank, 20)
    assert entry.status == "feasible"
    assert entry.objective == pytest.approx(entry.accuracy - 0.01 * entry.leaves)
    assert entry.bound is None
    left = multiprocessing.active_children()
    assert not [c for c in left if c.pid not in before and "Loky" not in c.name]


def test_every_suite_and_study_makes_settings_that_are_accepted(tmp_path):
    assert set(list_suites()) == {
        "accelerated", "certificates", "flow-oct", "margot", "s-oct", "strength", "svm1-odt",
        "thresholds",
    }  # fmt: skip
    for study in get_suite("accelerated").studies:
        made = accelerated(tmp_path, study, ("path-search",))
        keys = {(i.case, i.formulation, i.parameters) for i in made}
        assert len(keys) == len(made), "lines of a study must be told apart"
        for entry in {i.label: i for i in made}.values():
            check_settings(formulation=entry.formulation, depth=entry.depth, **entry.settings)
    with pytest.raises(SettingsError, match="strength"):
        get_suite("strenght")


def test_pick_spreads_cases_evenly():
    made = [instance(depth=d, formulation=f) for d in range(1, 9) for f in ("a", "b")]
    few = pick(made, 2)
    assert [i.depth for i in few] == [3, 3, 7, 7]
    assert pick(made, None) == made
    assert pick(made, 100) == made


def test_data_sets_can_be_named():
    made = [instance(dataset=name) for name in ("iris", "wine", "iris")]
    assert [i.dataset for i in of_datasets(made, ["iris"])] == ["iris", "iris"]
    assert of_datasets(made, []) == made
    with pytest.raises(SettingsError, match="did you mean wine"):
        of_datasets(made, ["wines"])


def test_grids_say_the_same_in_each_formulation():
    weights = flow_oct.grid("flow-oct", 100)
    assert weights[3] == {"split_weight": 0.3}
    assert len(weights) == 10
    assert flow_oct.grid("bin-oct", 100) == ({},)


def test_missing_data_are_named(tmp_path, monkeypatch):
    monkeypatch.delenv("OCT_REFERENCE", raising=False)
    with pytest.raises(DataError, match="OCT_REFERENCE"):
        data_folder(None)
    (tmp_path / "data").mkdir()
    assert data_folder(str(tmp_path)) == tmp_path / "data"
    with pytest.raises(DataError, match=r"encoded/a_enc\.csv"):
        check_files(tmp_path, ["encoded/a_enc.csv"], "accelerated")


def test_files_are_read_as_the_papers_read_them(tmp_path):
    (tmp_path / "encoded").mkdir()
    (tmp_path / "encoded" / "a_enc.csv").write_text("x,target,z\n0,7,1\n1,3,1\n1,7,0\n")
    data = encoded(tmp_path, "a", "none")()
    assert data.classes == (3, 7)
    assert data.feature_names == ("x", "z")
    raw = tmp_path / "raw.data"
    raw.write_text("1,0.5,0\n2,?,1\n3,0.25,4\n")
    two = table(raw, "raw", -1, drop=(0,), two_classes=True)
    assert (two.n_samples, two.n_features, two.classes) == (2, 1, (0, 1))
    words = table(raw, "raw", -1, categorical=True)
    assert words.n_samples == 3


@pytest.mark.long
def test_selected_rows_are_trained_on_and_all_rows_judged() -> None:
    small = replace(
        svm1_odt.instances(Path(), "selection", ("svm1-odt",))[0],
        dataset="small",
        load=lambda: svm1_odt.three_regions(300, 2),
        settings={"params": {"start_seconds": 1.0}},
    )
    (line,) = run_suite("svm1-odt", [small], 6, solver=in_this_process)
    assert line.accuracy is not None
    assert line.test_accuracy is not None
    assert line.accuracy > 0.8
    assert "of 225 rows selected" in line.note
    assert int(line.note.split(" of ")[0]) < 225
    sizes = [i.dataset for i in svm1_odt.instances(Path(), "selection", ("svm1-odt",))]
    # the smaller ones also train on all rows
    assert list(dict.fromkeys(sizes)) == [f"three-regions-{n}x10" for n in svm1_odt.SIZES]


@pytest.mark.parametrize(
    ("name", "count"),
    [("accelerated", 160), ("flow-oct", 128), ("margot", 1036), ("s-oct", 630), ("svm1-odt", 698)],
)
def test_published_tables_travel_with_the_package(name, count):
    rows = published(name)
    assert len(rows) == count
    assert all(None not in row.values() for row in rows)


def test_the_table_of_the_flow_paper_has_every_depth():
    rows = published("flow-oct")
    cells = {(row["dataset"], int(row["depth"]), row["formulation"]) for row in rows}
    models = ("oct-binary", "bin-oct", "flow-oct", "bend-oct")
    assert cells == set(product(flow_oct.SETS, flow_oct.DEPTHS, models))
    figure = {tuple(row.values())[:3]: row["test_acc_pct"] for row in rows}
    assert figure["kr-vs-kp", "3", "bend-oct"] == "89.9"


@pytest.mark.reference
def test_prices_are_chosen_without_test_rows(reference: Path):
    folder = data_folder(str(reference))
    tuned = svm1_odt.instances(folder, "tuned", ("svm1-odt",))
    assert {one.formulation for one in tuned} == {"svm1-odt", "cart"}
    assert len(tuned) == 10 * 10 * 2
    for now in tuned[::20]:
        assert now.rows is not None
        assert now.n_solves == 6 * 5 + 1
        assert not set(now.rows[0]) & set(now.rows[2])
        pairs = folds(now.load().codes, np.array(now.rows[0]), now.folds, 0)
        assert sorted(i for _, held in pairs for i in held) == list(now.rows[0])
        assert all(sorted((*kept, *held)) == list(now.rows[0]) for kept, held in pairs)


@pytest.mark.reference
def test_a_machine_is_judged_on_rows_that_neither_chose_nor_trained_it(reference: Path):
    tuned = machines_suite.instances(data_folder(str(reference)), "tuned", ("svm1-odt",))
    assert len(tuned) == 10 * 10 * 5
    one = next(i for i in tuned if (i.dataset, i.formulation) == ("Iris", "linear-svm"))
    one = replace(one, program=machines_suite.SUITE.programs[one.formulation])
    (line,) = run_suite("svm1-odt", [one], 1.0, solver=in_this_process)
    assert line.note.startswith("chosen: C=")
    assert one.rows is not None
    assert line.test_accuracy is not None
    right = line.test_accuracy * len(one.rows[2])
    assert right == pytest.approx(round(right))
    assert 0.9 < line.test_accuracy <= 1


def test_a_seed_is_named_in_the_line_and_refused_if_it_is_none():
    plain = svm1_odt.instances(Path(), "selection", ("svm1-odt",))[0]
    seeded = _seeded(plain, "7")
    assert seeded.settings["seed"] == 7
    assert set(seeded.parameters.split()) == {*plain.parameters.split(), "seed=7"}
    with pytest.raises(SettingsError, match="seed"):
        _seeded(plain, "seven")


def test_profiles_count_what_was_proven():
    lines = [
        line(seconds=2.0, gap=0.0),
        line(seconds=0.5, gap=0.0, depth=3),
        line(seconds=9.0, status="feasible", gap=0.25),
        line(seconds=9.0, status="no_solution"),
        line(status="missing"),
        line(formulation="bend-oct", seconds=1.0, gap=0.0),
    ]
    flow, bend = solved_against_time(lines)
    assert (flow.name, flow.total, flow.x, flow.y) == ("flow-oct", 4, (0.5, 2.0), (1, 2))
    assert (bend.name, bend.total, bend.x, bend.y) == ("bend-oct", 1, (1.0,), (1,))
    gaps = instances_against_gap(lines)[0]
    assert (gaps.total, gaps.x, gaps.y) == (4, (0.0, 0.25), (2, 3))


def test_profiles_refuse_other_files(tmp_path):
    other = tmp_path / "other.csv"
    other.write_text("a,b\n1,2\n")
    with pytest.raises(DataError, match="no output of octcore bench"):
        read_bench(other)
    with pytest.raises(SettingsError, match="cannot be read"):
        read_bench(tmp_path / "absent.csv")


def test_profiles_share_instances_across_variants():
    cells = {"dataset": "a", "encoding": "QT-5", "depth": "2", "status": "optimal", "gap": "0"}
    plain = {**cells, "formulation": "f", "parameters": "leaf_penalty=0.01", "seconds": "4"}
    strong = {**plain, "parameters": "value-rows leaf_penalty=0.01", "seconds": "1"}
    other = {**plain, "parameters": "leaf_penalty=0.02", "seconds": "9"}
    lines = [plain, strong, other]
    assert common_lines(lines) == [plain, strong]
    assert [p.name for p in solved_against_time(common_lines(lines))] == ["f", "f value-rows"]


def test_summary_has_medians():
    lines = [
        Line("s", "d", "none", "flow-oct", 2, "", "optimal", seconds=s, gap=0.0) for s in (1, 3, 5)
    ]
    assert summary(line.cells() for line in lines) == (
        ("formulation", "depth", "proven", "seconds"),
        ("flow-oct", "2", "3 of 3", "3"),
    )


def test_summary_tells_variants_apart_and_measures_the_root():
    plain = Line("s", "d", "none", "bend-oct", 2, "plain leaf_penalty=0.01", "feasible")
    strong = replace(plain, parameters="value rows leaf_penalty=0.01 value_row=True")
    lines = [
        replace(plain, reference_objective=0.5, root_bound=0.75),
        replace(strong, reference_objective=0.5, root_bound=0.5),
    ]
    heading, *rows = summary(line.cells() for line in lines)
    assert heading == ("formulation", "depth", "proven", "root gap")
    assert rows == [
        ("bend-oct plain", "2", "0 of 1", "50.00%"),
        ("bend-oct value rows", "2", "0 of 1", "0.00%"),
    ]


def test_command_refuses_in_one_sentence(tmp_path, capsys, monkeypatch):
    monkeypatch.delenv("OCT_REFERENCE", raising=False)
    for arguments in (
        ["bench", "accelarated"],
        ["bench", "accelerated", "--instances", "few", "--data", str(tmp_path)],
        ["bench", "accelerated", "--study", "ablaton", "--data", str(tmp_path)],
        ["bench", "accelerated", "--formulations", "flow", "--data", str(tmp_path)],
        ["bench", "accelerated"],
    ):
        assert main(arguments) == 2, arguments
        said = capsys.readouterr().err
        assert said.count("\n") == 1, said


@pytest.mark.reference
@pytest.mark.parametrize(
    ("suite", "count"),
    [("accelerated", 320), ("flow-oct", 800), ("margot", 30), ("s-oct", 30),
     ("svm1-odt", 80)],
)  # fmt: skip
def test_suites_list_the_published_instances(reference: Path, suite: str, count: int):
    chosen = get_suite(suite)
    folder = data_folder(str(reference))
    check_files(folder, chosen.needs, suite)
    made = chosen.instances(folder, chosen.studies[0], chosen.formulations)
    assert len(made) == count
    json.dumps([i.parameters for i in made])
    assert sum(i.published != Published() for i in made) >= count // 6
