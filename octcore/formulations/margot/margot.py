"""MARGOT: a tree of maximum-margin hyperplanes for two classes.

D'Onofrio, Grani, Monaci and Palagi.  Every branch node is a soft-margin SVM over the rows that pass
it; all of them are optimised together with the routing.

=====  ===============================================================
T_B    branch nodes; T'' those of the last level, T' those above
S''(t) last-level nodes below t
w, b   plane of a node: right when w_t.x + b_t >= 0
xi     slack of a row at a node that it passes
z      row i reaches last-level node t
=====  ===============================================================

Equation numbers are the paper's: assignment (5), (6), margins (7), (8), routing (9), (10), feature
selection (11), (12); objective and budgets have none.

The leaves are signs: below a last-level node the left leaf is the first class, the right leaf the
second.  What differs from the paper: nodes are numbered from 1; equal rows are merged with
weights; the default engine is an exact search over routings, with the mixed-integer quadratic
program as its definition, for export and for other solvers.
"""

from __future__ import annotations

from octcore.capabilities import Capability
from octcore.formulations.base import TeachingText, formulation
from octcore.formulations.margot.declaration import CAPABILITIES, MARGINS, NORM, declare
from octcore.formulations.margot.family import MargotFamily
from octcore.formulations.margot.model import make_program
from octcore.program import Problem, Program

INFO = declare(
    NORM,
    key="margot",
    place=140,
    title="MARGOT",
    summary="Every branch node is a support vector machine, and all planes are found together with "
    "the way that each row takes. Margins are part of the objective, so the picture generalises.",
    capabilities=(*CAPABILITIES, Capability.LINEAR),
    equations=(
        MARGINS,
        (
            r"y_i (w_t^\top x_i + b_t) \ge 1 - \xi_{ti}",
            "rows that pass a node lie on the side of their class, up to their slack",
        ),
        (
            r"w_t^\top x_i + b_t \ge 0 \ \text{(right)},\quad \le -\varepsilon \ \text{(left)}",
            "upper planes route: no row lies in the strip",
        ),
    ),
    teaching=TeachingText(
        "Optimal margins (MARGOT)",
        "Every split is a support vector machine, and all of them are trained together with the "
        "way that each point takes: wide margins, few points inside them.",
        "Slanted lines, each with its margin band. Ringed points hold the band in place: move one "
        "of them and the line follows; move another one and nothing happens.",
    ),
    good_at="Two-dimensional pictures with margins that a class can see; proves depth 2 in seconds "
    "on hundreds of rows.",
)


@formulation(INFO)
def build(problem: Problem) -> Program:
    """Make the MARGOT program of a problem."""
    return make_program(MargotFamily(problem, "margot"))
