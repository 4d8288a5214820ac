"""A small checker of the rules that the proofs of the package use; it knows nothing of trees.

``f`` loads the formula, ``ov`` shows a solution of it, ``o`` takes one and asks for better ones,
``p`` adds constraints, ``u`` takes what unit propagation shows, ``red`` what a subproof by
contradiction shows, or the definition of a variable, ``del`` forgets (in a subproof ``d``), and
``c`` ends with a contradiction.  Whatever else a line says is refused, assumptions (``a``) first of
all.  A constraint is a sum of positive coefficients of literals that are at least a degree; a
literal is a number, its negation -number.
Format: https://gitlab.com/MIAOresearch/software/VeriPB, version 1.1.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from octcore.errors import ProofError

HEADER = "pseudo-Boolean proof version 1.1"


@dataclass(frozen=True)
class Constraint:
    """Coefficients of literals, and what their sum is at least."""

    terms: dict[int, int]
    degree: int

    def plus(self, other: "Constraint") -> "Constraint":
        """The sum; of a literal and its negation one is left, as both together are 1."""
        terms, degree = dict(self.terms), self.degree + other.degree
        for literal, factor in other.terms.items():
            opposite = min(terms.get(-literal, 0), factor)
            if opposite:
                degree -= opposite
                terms[-literal] -= opposite
                if not terms[-literal]:
                    del terms[-literal]
            if factor > opposite:
                terms[literal] = terms.get(literal, 0) + factor - opposite
        return Constraint(terms, degree)

    def times(self, factor: int) -> "Constraint":
        """A multiple."""
        return Constraint({lit: factor * c for lit, c in self.terms.items()}, factor * self.degree)

    def negation(self) -> "Constraint":
        """What holds where this does not."""
        opposite = {-literal: factor for literal, factor in self.terms.items()}
        return Constraint(opposite, sum(self.terms.values()) - self.degree + 1)

    def under(self, fixed: dict[int, bool]) -> "Constraint":
        """What is left where some variables are fixed."""
        kept = {lit: c for lit, c in self.terms.items() if abs(lit) not in fixed}
        met = sum(c for lit, c in self.terms.items() if fixed.get(abs(lit)) == (lit > 0))
        return Constraint(kept, self.degree - met)

    def implies(self, other: "Constraint") -> bool:
        """Whether leaving out terms is enough to get the other."""
        lost = sum(max(0, c - other.terms.get(lit, 0)) for lit, c in self.terms.items())
        return self.degree - lost >= other.degree

    @property
    def slack(self) -> int:
        """By how much the largest sum is more than the degree; negative for a contradiction."""
        return sum(self.terms.values()) - self.degree


class Database:
    """Constraints by number, and what unit propagation makes of them."""

    def __init__(self) -> None:
        self.constraints: dict[int, Constraint] = {}
        self.true: set[int] = set()
        self.trail: list[int] = []
        self.in_conflict = False
        self._slack: dict[int, int] = {}
        self._largest: dict[int, int] = {}
        """By number: the largest coefficient; more slack than that makes nothing true."""
        self._in: dict[int, dict[int, int]] = {}
        """By literal: coefficients by number of the constraint."""
        self._reasons: dict[int, int] = {}  # by literal: which constraint made it true

    def add(self, number: int, constraint: Constraint) -> None:
        """Attach a constraint and propagate."""
        self.constraints[number] = constraint
        slack = constraint.slack
        for literal, factor in constraint.terms.items():
            self._in.setdefault(literal, {})[number] = factor
            slack -= factor * (-literal in self.true)
        self._slack[number] = slack
        self._largest[number] = max(constraint.terms.values(), default=0)
        self._propagate([number])

    def remove(self, numbers: Iterable[int]) -> None:
        """Forget constraints, and what they made true."""
        gone = set(numbers)
        for number in gone:
            self._detach(number)
        first = next((at for at, lit in enumerate(self.trail) if self._reasons[lit] in gone), None)
        if first is not None:
            waiting = [number for lit in self.trail[first:] for number in self._in.get(lit, ())]
            was_in_conflict = self.in_conflict  # then not all was made true
            self.back_to((first, False))
            self._propagate(list(self._slack) if was_in_conflict else waiting)

    @property
    def state(self) -> tuple[int, bool]:
        """For `back_to`."""
        return len(self.trail), self.in_conflict

    def back_to(self, state: tuple[int, bool]) -> None:
        """Take back what was made true since."""
        while len(self.trail) > state[0]:
            literal = self.trail.pop()
            self.true.discard(literal)
            for number, factor in self._in.get(-literal, {}).items():
                self._slack[number] += factor
        self.in_conflict = state[1]

    def shows(self, constraint: Constraint) -> bool:
        """Whether propagation contradicts the negation."""
        if self.in_conflict or constraint.degree <= 0:
            return True
        before = self.state
        self.add(0, constraint.negation())
        found = self.in_conflict
        self.back_to(before)
        self._detach(0)
        return found

    def _detach(self, number: int) -> None:
        for literal in self.constraints.pop(number).terms:
            self._in[literal].pop(number, None)
        self._slack.pop(number, None)  # a copy has none

    def _propagate(self, waiting: list[int]) -> None:
        while waiting and not self.in_conflict:
            number = waiting.pop()
            slack = self._slack[number]
            if slack < 0:
                self.in_conflict = True
                return
            for literal, factor in self.constraints[number].terms.items():
                if factor > slack and literal not in self.true and -literal not in self.true:
                    self.true.add(literal)
                    self.trail.append(literal)
                    self._reasons[literal] = number
                    for other, lost in self._in.get(-literal, {}).items():
                        self._slack[other] -= lost
                        if self._slack[other] < self._largest[other]:
                            waiting.append(other)


class Checker:
    """Follows a proof of a formula (in the format OPB) line by line.

    `ProofError` at the first line that does not follow.
    """

    def __init__(self, formula: str) -> None:
        self.numbers: dict[str, int] = {}
        self.database = Database()
        self.goal = Constraint({}, 0)
        self.formula: list[Constraint] = []
        for line in formula.splitlines():
            if line.startswith("min:"):
                self.goal = self._constraint([*line.split()[1:-1], ">=", "0"])
            elif not line.startswith("*"):
                *words, end = line.split()
                self._expect(end == ";", "a line of the formula has no end")
                is_equation = words[-2] == "="
                least = self._constraint([*words[:-2], ">=", words[-1]])
                self.formula.append(least)
                if is_equation:
                    opposite = {-lit: c for lit, c in least.terms.items()}
                    self.formula.append(Constraint(opposite, sum(opposite.values()) - least.degree))
        self.n_variables = len(self.numbers)
        self.last_id = 0
        self.best: int | None = None  # cost of the best solution that the proof names
        self.is_done, self.at = False, 0  # line of the proof

    def check(self, lines: Iterable[str], guard: Callable[[], None] = lambda: None) -> int:
        """Follow a whole proof; returns the optimum that it proves."""
        source = self._numbered(lines, guard)
        try:
            self._expect(next(source, "") == HEADER, f"the first line is not {HEADER!r}")
            for line in source:
                self._expect(not self.is_done, "something follows the end")
                self._line(line.split(), source)
            self._expect(self.is_done and self.best is not None, "the proof has no end")
        except (ValueError, IndexError, KeyError) as error:
            raise ProofError("NOT_PROVEN", f"Line {self.at} of the proof is broken.") from error
        except ProofError as error:
            words = f"Line {self.at} of the proof is refused: {error.message}."
            raise ProofError("NOT_PROVEN", words) from None
        assert self.best is not None
        return self.best

    def _numbered(self, lines: Iterable[str], guard: Callable[[], None]) -> Iterator[str]:
        for self.at, line in enumerate(lines, 1):
            guard()
            yield line.strip()

    def _expect(self, is_right: bool, otherwise: str) -> None:
        if not is_right:
            raise ProofError("NOT_PROVEN", otherwise)

    def _literal(self, word: str) -> int:
        name = word.removeprefix("~")
        self._expect(name[:1].isalpha(), f"{word} is no literal")
        number = self.numbers.setdefault(name, len(self.numbers) + 1)
        return -number if word[0] == "~" else number

    def _constraint(self, words: list[str]) -> Constraint:
        self._expect(words[-2] == ">=", "a constraint is no sum of at least a degree")
        terms: dict[int, int] = {}
        for factor, literal in zip(words[:-2:2], words[1:-2:2], strict=True):
            variable = self._literal(literal)
            is_new = variable not in terms and -variable not in terms
            self._expect(int(factor) > 0 and is_new, f"{literal} stands in no normal form")
            terms[variable] = int(factor)
        return Constraint(terms, int(words[-1]))

    def _line(self, words: list[str], source: Iterator[str]) -> None:
        rule, rest = words[0], words[1:]
        if rule == "f":
            self._expect(not self.last_id, "the formula is loaded again")
            self._expect(rest == [str(len(self.formula))], "the formula has another size")
            for constraint in self.formula:
                self._add(constraint)
        elif rule in {"o", "ov"}:
            known = () if rule == "ov" else self.database.constraints.values()
            cost = self._cost([self._literal(word) for word in rest], known)
            if rule == "o":
                self._expect(self.best is None or cost < self.best, "a solution is no better")
                self.best = cost
                self._add(Constraint(self.goal.terms, cost).negation())
        elif rule == "del":
            self._expect(rest[0] == "id", "only numbers are deleted")
            self._delete(rest[1:])
        elif rule == "c":
            self._expect(self._is_contradiction(rest), "the last constraint can be satisfied")
            self.is_done = True
        else:
            self._derive(rule, rest, source)

    def _derive(self, rule: str, rest: list[str], source: Iterator[str]) -> None:
        if rule == "red":
            self._strengthen(rest, source)
            return
        if rule == "p":
            self._add(self._sum(rest))
            return
        self._expect(rule == "u", f"the rule {rule!r} is not allowed")
        self._expect(rest[-1] == ";", "a constraint has no end")
        constraint = self._constraint(rest[:-1])
        self._expect(self.database.shows(constraint), "propagation does not show it")
        self._add(constraint)

    def _add(self, constraint: Constraint) -> None:
        self.last_id += 1
        self.database.add(self.last_id, constraint)

    def _known(self, word: str) -> int:
        is_there = word.isdigit() and int(word) in self.database.constraints
        self._expect(is_there, f"there is no constraint {word}")
        return int(word)

    def _delete(self, words: list[str]) -> None:
        self.database.remove(self._known(word) for word in words)

    def _is_contradiction(self, words: list[str]) -> bool:
        number = self.last_id if words == ["-1"] else self._known(words[0])
        return len(words) == 1 and self.database.constraints[number].slack < 0

    def _sum(self, words: list[str]) -> Constraint:
        """Additions and multiples, in reverse Polish notation."""
        stack: list[Constraint] = []
        for at, word in enumerate(words):
            if word == "+":
                second, first = stack.pop(), stack.pop()
                stack.append(first.plus(second))
            elif word == "*":
                self._expect(int(words[at - 1]) > 0, "a factor is not positive")
                stack.append(stack.pop().times(int(words[at - 1])))
            elif words[at + 1 : at + 2] != ["*"]:
                stack.append(self.database.constraints[self._known(word)])
        self._expect(len(stack) == 1, "a sum is not whole")
        return stack[0]

    def _cost(self, literals: list[int], known: Iterable[Constraint]) -> int:
        """Of a solution of the formula, and of what is known beside it."""
        chosen = set(literals)
        named = {abs(lit) for lit in chosen}
        is_whole = named >= set(range(1, self.n_variables + 1)) and len(chosen) == len(named)
        self._expect(is_whole, "not every variable has one value")
        self._expect(bool(self.last_id), "the formula is not loaded")
        for constraint in (*self.formula, *known):
            reached = sum(c for lit, c in constraint.terms.items() if lit in chosen)
            self._expect(reached >= constraint.degree, "a solution breaks the formula")
        return sum(c for lit, c in self.goal.terms.items() if lit in chosen)

    def _strengthen(self, words: list[str], source: Iterator[str]) -> None:
        end = words.index(";")
        constraint, rest = self._constraint(words[:end]), words[end + 1 :]
        if rest == [";", "begin"]:
            self._subproof(constraint, source)
        else:
            name, arrow, value = rest
            self._expect(arrow == "->" and value in {"0", "1"}, "a substitution is no value")
            self._define(constraint, self._literal(name), value == "1")
        self._add(constraint)

    def _define(self, constraint: Constraint, variable: int, value: bool) -> None:
        """Setting the variable must keep all that holds where the constraint does not."""
        fixed, denied = {variable: value}, constraint.negation()
        self._expect(variable > self.n_variables, "a variable of the formula is defined")
        others = [
            other
            for other in self.database.constraints.values()
            if variable in other.terms or -variable in other.terms
        ]
        for goal in (constraint.under(fixed), *(other.under(fixed) for other in others)):
            is_kept = goal.degree <= 0 or denied.implies(goal)
            self._expect(is_kept, "a definition breaks what is known")

    def _subproof(self, constraint: Constraint, source: Iterator[str]) -> None:
        """Follow a proof by contradiction; what it derives is forgotten."""
        before, first = self.database.state, self.last_id
        self._add(constraint.negation())
        self._expect(next(source, "") == "proofgoal #1", "a subproof has another goal")
        self.last_id += 1  # the same negation again, as the goal
        self.database.constraints[self.last_id] = self.database.constraints[self.last_id - 1]
        rule, rest = "", [""]
        for line in source:
            rule, *rest = line.split()
            if rule == "c":
                break
            if rule == "d":
                self._delete(rest)
            else:
                self._derive(rule, rest, source)
        self._expect(self._is_contradiction(rest), "a subproof ends without contradiction")
        closed = [next(source, ""), next(source, "")] == ["end", "end"]
        self._expect(rule == "c" and closed, "a subproof is not closed")
        self.database.back_to(before)
        own = range(first + 1, self.last_id + 1)
        self.database.remove(number for number in own if number in self.database.constraints)
