"""References and tables as LaTeX takes them."""

from __future__ import annotations

import re

import pandas as pd
import pytest

import octcore
from octcore.formulations.base import get_formulation
from octcore.reports.tables import bibtex, latex


def test_special_characters_of_a_table_are_escaped():
    table = pd.DataFrame({"fact": ["a_b & c", "5 %"], "R&D": ["{x}", "$2^n~\\"]})
    lines = latex(table).splitlines()
    assert lines[0] == r"\begin{tabular}{ll}"
    assert lines[2] == r"fact & R\&D \\"
    assert lines[4:6] == [
        r"a\_b \& c & \{x\} \\",
        r"5 \% & \$2\textasciicircum{}n\textasciitilde{}/ \\",
    ]
    assert lines[-1] == r"\end{tabular}"


def test_every_formulation_and_solver_is_cited_once():
    data = octcore.load_sample("iris")
    greedy = octcore.solve(data, "cart", depth=1)
    model = octcore.solve(data, "flow-oct", encoding="QT-2", depth=1, engine="highs", time_limit=30)
    text = bibtex([greedy, model, model])
    keys = re.findall(r"^@\w+{([\w-]+),$", text, re.MULTILINE)
    assert keys == ["cart", "flow-oct", "highs", "octcore"]
    assert "author = {Aghaei, S. and Gómez, A. and Vayanos, P.}" in text
    assert "doi = {10.1287/opre.2021.0034}" in text
    assert text.count("{") == text.count("}")


@pytest.mark.parametrize("key", ["accelerated-bend-oct", "path-search", "path-columns"])
def test_the_accelerations_are_cited_by_their_own_title(key):
    text = bibtex([octcore.solve(octcore.load_sample("iris"), key, depth=1, time_limit=30)])
    assert "Acceleration Techniques for Learning Optimal Classification Trees with Integer" in text
    assert "author = {Keegan, M. and Forbes, M. and Corry, P. and Abolghasemi, M.}" in text
    assert ("note = " in text) == (key != "accelerated-bend-oct")
    line = str(get_formulation(key).info.reference)
    assert line.startswith("Keegan, M., Forbes, M., Corry, P. and Abolghasemi, M. (2025). Accel")
    assert line.endswith("itself is ours)") == (key != "accelerated-bend-oct")
