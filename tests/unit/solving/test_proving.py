"""Proofs of whole runs: what a run asks for is in the formula, or refused."""

from __future__ import annotations

import itertools
import json
import os
import shutil
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest

import octcore
from octcore.cli import main
from octcore.data.dataset import Dataset
from octcore.data.samples import load_sample
from octcore.errors import CancelledError, ProofError, SettingsError, TooLargeError
from octcore.solving import proving
from octcore.solving.proving import case_of, check_proof, excluded_cuts
from octcore.verification.certificates.case import Costs
from octcore.verification.certificates.formula import Formula
from octcore.verification.certificates.proof import Proof

CASES: dict[str, dict[str, Any]] = {
    "plain": {},
    "binary columns": {"formulation": "path-search"},
    "no price": {"params": {"leaf_penalty": 0.0}},
    "a long price": {"params": {"leaf_penalty": 1 / 70}},
    "split weight": {"formulation": "path-search", "params": {"split_weight": 0.1}},
    "costs": {"costs": {"a": {"b": 2.5}, "b": {"c": 0.5}}},
    "a person": {"refer": 0.2},
    "class weights": {"constraints": {"class_weight": "balanced"}},
    "leaves": {"constraints": {"max_leaves": 3}},
    "splits": {"constraints": {"max_splits": 1}},
    "leaf size": {"constraints": {"min_samples_leaf": 6}},
    "root": {"constraints": {"root_feature": "colour"}},
    "forbidden": {"constraints": {"forbidden_features": ["size"]}},
    "recall": {"constraints": {"min_recall": {"b": 0.9}}, "formulation": "path-columns"},
    "recall below two splits": {"depth": 3, "constraints": {"min_recall": {"b": 0.6}}},
    "one leaf": {"params": {"leaf_penalty": 0.9}},
}


@pytest.fixture(scope="module")
def table() -> Dataset:
    rng = np.random.default_rng(5)
    frame = pd.DataFrame(
        {
            "size": rng.integers(0, 6, 40).astype(float),
            "width": rng.integers(0, 9, 40) / 8,
            "colour": rng.choice(["red", "green", "blue"], 40),
        }
    )
    noise = rng.random(40) < 0.2
    y = np.where(frame["size"] > 2, "a", np.where((frame["width"] > 0.5) ^ noise, "b", "c"))
    return Dataset.from_arrays(frame, list(y))


def solved(table: Dataset, **settings: Any) -> octcore.Run:
    asked = {"depth": 2, "verify": False, **settings}
    return octcore.solve(table, **asked)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("case", CASES)
def test_a_run_is_proven(case: str, table: Dataset, tmp_path: Path) -> None:
    run = solved(table, **CASES[case])
    written = run.prove(tmp_path / "proof", check=True)
    assert written.objective == run.objective
    assert written.accepted_by == "checker of the package"
    files = {path.name: path.stat().st_size for path in (tmp_path / "proof").iterdir()}
    assert set(files) == {"tree.opb", "tree.pbp", "README"}
    assert written.n_bytes == files["tree.opb"] + files["tree.pbp"]
    assert len((tmp_path / "proof" / "README").read_text().splitlines()) == 10


def test_a_check_that_ends_late_neither_accepts_nor_refuses(
    table: Dataset, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run, seconds = solved(table), itertools.count(0, 400)
    monkeypatch.setattr(proving, "time", SimpleNamespace(monotonic=lambda: next(seconds)))
    written = run.prove(tmp_path, check=True)
    assert (written.accepted_by, written.is_late) == (None, True)
    lines = itertools.count()

    def guard() -> None:
        next(lines)

    check_proof(run, tmp_path, guard)
    n_lines = len((tmp_path / "tree.pbp").read_text().splitlines())
    assert next(lines) == n_lines, "every line can be the last one, those of subproofs, too"


def test_sample_weights_count(table: Dataset, tmp_path: Path) -> None:
    weights = np.linspace(0.0, 2.0, table.n_samples).round(2)
    run = solved(table, sample_weight=weights)
    assert run.prove(tmp_path, check=True).objective == run.objective


def test_other_rows_and_other_settings_are_another_formula(table: Dataset, tmp_path: Path) -> None:
    run = solved(table)
    run.prove(tmp_path)
    for other in (
        solved(table, params={"leaf_penalty": 0.02}),
        solved(table.subset(np.arange(39))),
        solved(table, constraints={"max_leaves": 2}),
    ):
        with pytest.raises(ProofError) as refused:
            check_proof(other, tmp_path)
        assert refused.value.code == "OTHER_FORMULA"
    check_proof(run, tmp_path)


@pytest.mark.long
def test_what_cannot_be_proven_is_refused(table: Dataset, tmp_path: Path) -> None:
    folder = tmp_path / "proof"
    refused = {
        "CONSTRAINT_NOT_EXPRESSIBLE": solved(
            table, constraints={"min_recall": {"a": 0.5, "b": 0.5}}
        ),
        "NO_VALUES": solved(table, formulation="oct-h", depth=1),
        "NOT_OPTIMAL": solved(table, formulation="cart"),
    }
    for code, run in refused.items():
        with pytest.raises(SettingsError) as error:
            run.prove(folder)
        assert error.value.code == code
    run = solved(table)
    with pytest.raises(TooLargeError) as large:
        run.prove(folder, size_limit=20_000)
    assert large.value.size["bytes"] > 20_000
    with pytest.raises(TooLargeError, match=r" 0\.0\d+ s of writing, .* or 1e-09 s") as slow:
        run.prove(folder, time_limit=1e-9)
    assert slow.value.size["seconds"] > 0
    with pytest.raises(CancelledError):
        run.prove(folder, cancel=lambda: True)
    assert not folder.exists()
    (tmp_path / "file").write_text("")
    with pytest.raises(SettingsError) as place:
        run.prove(tmp_path / "file")
    assert place.value.code == "CANNOT_WRITE"


@pytest.mark.long
def test_size_and_time_are_estimated() -> None:
    case, tree = case_of(octcore.solve(load_sample("monks-2"), depth=3, verify=False))
    lines: list[str] = []
    proof = Proof(Formula(case), Costs(case, lambda: None), lambda line: lines.append(line + "\n"))
    begin = time.process_time()
    n_bytes, seconds = proof.estimate(tree)
    assert not lines
    proof.prove(tree)
    assert n_bytes == pytest.approx(len("".join(lines)), rel=0.3)
    assert 0 < seconds < 50 * (time.process_time() - begin)


CHECKERS = {
    "accepts": ("echo Verification succeeded.", ""),
    "warns": ("echo 'Warning: unchecked assumption'; echo Verification succeeded.", "it says"),
    "refuses": ("echo Verification failed.", "it says: Verification failed."),
    "is mute": ("true", "it says: nothing"),
}


@pytest.mark.skipif(os.name == "nt", reason="the stand-ins are shell scripts")
@pytest.mark.parametrize("kind", CHECKERS)
def test_what_a_program_says_counts(kind: str, table: Dataset, tmp_path: Path) -> None:
    command, words = CHECKERS[kind]
    program = tmp_path / "checker"
    program.write_text(f'#!/bin/sh\n[ "$1" = --requireUnsat ] && [ -s "$2" ] && {command}\n')
    program.chmod(0o755)
    run = solved(table)
    if not words:
        assert run.prove(tmp_path / "proof", check=str(program)).accepted_by == str(program)
        return
    with pytest.raises(ProofError, match=words):
        run.prove(tmp_path / "proof", check=str(program))
    assert not (tmp_path / "proof" / "tree.pbp").exists()


@pytest.mark.skipif(os.name == "nt", reason="the stand-ins are shell scripts")
def test_what_a_program_would_let_pass_is_refused(table: Dataset, tmp_path: Path) -> None:
    program, folder, run = tmp_path / "checker", tmp_path / "proof", solved(table)
    program.write_text("#!/bin/sh\necho Verification succeeded.\n")
    program.chmod(0o755)
    run.prove(folder)
    lines = (folder / "tree.pbp").read_text().splitlines(keepends=True)
    tree = next(n for n, line in enumerate(lines) if line.startswith("o "))
    forged = {
        "an assumption": [*lines[: tree + 1], "a 1 p1_0 >= 1 ;\n", *lines[tree + 1 :]],
        "another tree": [*lines[:tree], lines[tree].replace("~", "", 1), *lines[tree + 1 :]],
        "no tree": [*lines[:tree], *lines[tree + 1 :]],
    }
    for text in forged.values():
        (folder / "tree.pbp").write_text("".join(text))
        with pytest.raises(ProofError):
            check_proof(run, folder, checker=str(program))
    (folder / "tree.pbp").write_text("".join(lines))
    check_proof(run, folder, checker=str(program))
    with pytest.raises(SettingsError, match="no program"):
        run.prove(folder, check="no-such-checker")


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("veripb") is None, reason="veripb is not installed")
@pytest.mark.parametrize("case", CASES)
def test_veripb_accepts_a_run(case: str, table: Dataset, tmp_path: Path) -> None:
    assert solved(table, **CASES[case]).prove(tmp_path, check="veripb").accepted_by == "veripb"


def test_the_command_writes_and_checks(
    table: Dataset, tmp_path: Path, capsys: pytest.CaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows, file, folder = tmp_path / "rows.csv", tmp_path / "run.json", tmp_path / "proof"
    table.frame.assign(target=[table.classes[k] for k in table.codes]).to_csv(rows, index=False)
    run = solved(octcore.read_csv(rows, target="target"))
    file.write_text(json.dumps(run.to_dict()))
    asked = ["prove", str(file), "--data", str(rows), "--output", str(folder)]
    assert main([*asked, "--check"]) == 0
    assert "accepted by: checker of the package" in capsys.readouterr().out
    assert main([*asked, "--size-limit", "1000"]) == 2
    assert "or give octcore prove a larger size limit" in capsys.readouterr().err
    check_proof(run, folder)
    monkeypatch.setattr(proving, "_checked", lambda *_: False)
    assert main([*asked, "--check"]) == 3
    assert "not checked in time (600 s)" in capsys.readouterr().out


def test_a_lesson_tells_what_the_sides_of_every_cut_cost_at_least(table: Dataset) -> None:
    run = octcore.solve(table, depth=2, params={"leaf_penalty": 0.05})
    X, y = run.encoding.transform(table.frame), table.codes

    def leaf(rows: np.ndarray) -> float:
        return (rows.sum() - np.bincount(y[rows], minlength=3).max()) / len(y) + 0.05

    def least(rows: np.ndarray) -> float:
        cuts = [X[:, j] <= value for j in range(X.shape[1]) for value in X[rows, j]]
        return min(leaf(rows), *(leaf(rows & cut) + leaf(rows & ~cut) for cut in cuts))

    cost, cuts = excluded_cuts(run)
    assert cost == pytest.approx(1.0 - run.objective)
    for cut in cuts:
        values = X[:, cut.column]
        left, right = least(values <= cut.low), least(values >= cut.high)
        assert (cut.left, cut.right) == pytest.approx((min(left, cost), min(right, cost)))
        assert cut.left + cut.right >= cost - 1e-12
    for j in range(X.shape[1]):  # every cut of a column is in one of them
        for low, high in itertools.pairwise(np.unique(X[:, j])):
            assert any(c.column == j and c.low <= low and high <= c.high for c in cuts)
