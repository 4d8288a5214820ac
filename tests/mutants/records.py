"""A mutant: which text becomes which, and what must fail then."""

from __future__ import annotations

import ast
import tomllib
from dataclasses import dataclass
from pathlib import Path

FOLDER = Path(__file__).parent
ROOT = FOLDER.parent.parent


@dataclass(frozen=True, eq=False)
class Change:
    """A file of the package, and what is compiled in its place."""

    path: Path
    source: str | ast.Module


@dataclass(frozen=True)
class Mutant:
    """One seeded fault.

    Parameters
    ----------
    name : str
        Short and unique.
    file : str
        Where the text stands; another file of the package when it has moved.
    find, replace : str
        The text, which occurs once, and what it becomes.
    kill : str
        ``"case NAME"``, a kept case of the fuzz, or ``"pytest TEST"``: what notices it.
    """

    name: str
    file: str
    find: str
    replace: str
    kill: str

    def place(self, root: Path) -> Path:
        """File of the text below a folder.

        Raises
        ------
        LookupError
            If the text is nowhere, or in more than one place.
        """
        named = root / self.file
        if named.exists() and named.read_text().count(self.find) == 1:
            return named
        found = [path for path in (root / "octcore").rglob("*.py") if self.find in path.read_text()]
        if len(found) != 1 or found[0].read_text().count(self.find) != 1:
            raise LookupError(f"{self.name}: its text stands in {len(found)} files, not once")
        return found[0]

    def change(self) -> Change:
        """The file with the fault."""
        path = self.place(ROOT)
        return Change(path, path.read_text().replace(self.find, self.replace))


def mutants() -> list[Mutant]:
    """All mutants, in the order of their files."""
    found: list[Mutant] = []
    for path in sorted(FOLDER.glob("*.toml")):
        records = tomllib.loads(path.read_text()).get("mutant", ())
        found += [Mutant(**record) for record in records]
    return found
