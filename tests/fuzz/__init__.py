"""Random cases of every formulation against referees that share no code with the package.

``python -m tests.fuzz`` runs them; ``check(Case(...))`` runs one.
"""

from tests.fuzz.case import Case
from tests.fuzz.checks import check, draw, keys

__all__ = ["Case", "check", "draw", "keys"]
