"""Tables as people bring them: no row, class or column is lost without a warning that says so."""

from __future__ import annotations

import random

import pytest

from octcore.data.findings import count
from octcore.data.reading import read_csv


def clinic(draw: random.Random, i: int) -> str:
    """Semicolons, decimal commas and "k.A."."""
    crp = "k.A." if draw.random() < 0.3 else f"{draw.uniform(0, 200):.1f}".replace(".", ",")
    lactate = "k.A." if i % 50 == 7 else f"{draw.uniform(0, 5):.1f}".replace(".", ",")
    ward = draw.choice(["Innere", "innere", "Chirurgie"])
    return f"{1 + i % 28:02d}.03.2024;{ward};{crp};{lactate};{'01'[i % 7 == 0]}"


def remarked(draw: random.Random, i: int) -> str:
    """A column of comments that is mostly empty."""
    comment = draw.choice(["not sampled", "nest not seen"]) if i % 10 == 0 else ""
    return f"{'' if i == 7 else draw.randint(30, 60)},{draw.gauss(190, 9):.0f},{comment},{i % 3}"


def teams(draw: random.Random, i: int) -> str:
    """130 classes, of which 90 have no rating."""
    rating = "" if i % 130 >= 40 else f"{draw.gauss(60, 5):.1f}"
    return f"{draw.randint(0, 9)}.5,{draw.randint(3, 20)},{rating},team {i % 130}"


def answers(draw: random.Random, i: int) -> str:
    """Whole numbers from 1 to 5."""
    return ",".join(str(draw.randint(1, 5)) for _ in range(4))


def many(draw: random.Random, i: int) -> str:
    return f"{draw.random():.3f},{draw.gauss(0, 1):.2f},{'' if i % 999 == 5 else i % 97},{i % 4}"


TABLES = {
    "clinic": (clinic, 600, "day;ward;crp;lactate;dead", "lost"),
    "remarked": (remarked, 340, "bill,flipper,comment,kind", "lost"),
    "teams": (teams, 1300, "goals,shots,rating,team", "lost"),
    "answers": (answers, 300, "q1,q2,q3,happy", "whole"),
    "many": (many, 20_000, "a,b,c,kind", "lost"),
}


@pytest.mark.parametrize("missing", ["auto", "drop-rows", "drop-columns", "category"])
@pytest.mark.parametrize("name", TABLES)
def test_what_a_table_loses_is_counted_and_said(name, missing):
    make, n_rows, header, expected = TABLES[name]
    draw = random.Random(5)
    lines = [make(draw, i) for i in range(n_rows)]
    delimiter = ";" if ";" in header else ","
    *features, target = header.split(delimiter)
    blob = "\n".join([header, *lines, ""]).encode()
    data = read_csv(blob, target=target, missing=missing)
    warned = " ".join(f.message for f in data.findings if f.severity == "warning")
    lost_rows = dict(data.source.rows_dropped)
    assert data.n_samples + sum(lost_rows.values()) == n_rows
    kept = set(data.row_lines.tolist())
    first = next((line for line in range(2, n_rows + 2) if line not in kept), 0)
    for number in lost_rows.values():
        assert f"{count(number, 'row')} of {n_rows:,} left out (first in line {first})" in warned
    lost_columns = set(features) - set(data.feature_names)
    assert lost_columns == set(dict(data.source.columns_dropped))
    assert all(f"“{column}”" in warned for column in lost_columns)
    lost_classes = {line.rsplit(delimiter, 1)[1] for line in lines} - {*map(str, data.classes)}
    said = f"no row is left of {len(lost_classes)} class"
    assert (said in warned) if lost_classes else ("no row is left" not in warned)
    whole = not (lost_rows or lost_columns or lost_classes)
    assert whole == (expected == "whole")
    if missing == "auto":
        assert sum(lost_rows.values()) <= 0.1 * n_rows
        assert not lost_classes
