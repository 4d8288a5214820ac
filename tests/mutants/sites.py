"""Every small change that a file admits: comparisons, constants, signs, extrema, conditions.

Left out, as no wrong answer comes of it: what only refuses bad input (``raise``, and an ``if`` that
does nothing else), assertions and ``isinstance``, annotations and decorators, texts, statements and
functions that name times, estimates, pictures or progress (`_COSMETIC`), what compiles kernels
beforehand, and files that write machine code, which no test in plain Python reaches.
"""

from __future__ import annotations

import ast
import copy
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.mutants.records import ROOT, Change

_COSMETIC = re.compile(
    r"seconds|perf_counter|elapsed|deadline|estimat|progress|pictur|moment|\.note\(|compile_part",
    re.IGNORECASE,
)
_MACHINE_CODE = "from llvmlite import"
_LEFT_OUT = (ast.Raise, ast.Assert, ast.JoinedStr, ast.Import, ast.ImportFrom)
_FIELDS = {"decorator_list", "annotation", "returns", "bases"}
_OPERATORS: dict[type[ast.AST], type[ast.AST]] = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq, ast.Add: ast.Sub, ast.Sub: ast.Add, ast.And: ast.Or, ast.Or: ast.And,
}  # fmt: skip
_NAMES = {"min": "max", "minimum": "maximum", "argmin": "argmax", "any": "all"}
_NAMES |= {second: first for first, second in _NAMES.items()}
TOLERANCE = 0.01
"""Smaller constants are tolerances, which become a thousand times wider."""
SENTINEL = 1e9
"""Larger constants stand for infinity."""


@dataclass(frozen=True)
class Site:
    """One change of one place.

    Parameters
    ----------
    file : str
        Below the root of the repository.
    line : int
        Where it stands.
    text : str
        That line without its indentation.
    change : str
        ``before -> after``.
    number : int
        Among all changes of the file.
    lines : range
        Of its statement; of a compound one, its head.
    in_function : bool
        Whether it is run when a function is called, not while the module is imported.
    """

    file: str
    line: int
    text: str
    change: str
    number: int
    lines: range
    in_function: bool

    @property
    def name(self) -> tuple[str, str, str]:
        """What stays when lines move."""
        return self.file, self.text, self.change

    def made(self) -> Change:
        """The file with the change."""
        path = ROOT / self.file
        tree = ast.parse(path.read_text())
        place = next(p for i, p in enumerate(_places(tree)) if i == self.number)
        place.put(place.after)
        return Change(path, ast.fix_missing_locations(tree))


@dataclass(frozen=True, eq=False)
class _Place:
    before: ast.AST
    after: ast.AST
    owner: ast.AST
    put: Callable[[Any], None]
    statement: ast.stmt
    in_function: bool


def sites(path: Path) -> list[Site]:
    """All changes of a file, in the order of its text."""
    text = path.read_text()
    if _MACHINE_CODE in text:
        return []
    lines, found, file = text.splitlines(), [], str(path.relative_to(ROOT))
    for number, place in enumerate(_places(ast.parse(text))):
        line = place.before.lineno
        said, reach = lines[line - 1].strip(), _lines(place.statement)
        found.append(Site(file, line, said, _described(place), number, reach, place.in_function))
    return found


def _lines(statement: ast.stmt) -> range:
    body = getattr(statement, "body", None)
    end = statement.end_lineno if body is None else max(statement.lineno, body[0].lineno - 1)
    return range(statement.lineno, end + 1)


def _described(place: _Place) -> str:
    """The change, in the expression that it stands in."""
    is_alone = isinstance(place.owner, ast.stmt | ast.comprehension | ast.arguments)
    before = place.before if is_alone else place.owner
    said = ast.unparse(before)
    place.put(place.after)
    after = ast.unparse(place.after if is_alone else place.owner)
    place.put(place.before)
    return f"{said} -> {after}"


def _places(
    node: ast.AST, statement: ast.stmt | None = None, in_function: bool = False
) -> Iterator[_Place]:
    for name, value in ast.iter_fields(node):
        if name in _FIELDS:
            continue
        for k, item in enumerate(value if isinstance(value, list) else [value]):
            if not isinstance(item, ast.AST) or _is_left_out(item):
                continue
            put = _putter(node, name, k if isinstance(value, list) else None)
            here = item if isinstance(item, ast.stmt) else statement
            for after in _changes(item, is_condition=name in {"test", "ifs"}):
                assert here is not None
                yield _Place(item, after, node, put, here, in_function)
            yield from _places(item, here, in_function or isinstance(item, ast.FunctionDef))


def _putter(node: ast.AST, name: str, k: int | None) -> Callable[[Any], None]:
    if k is None:
        return lambda new: setattr(node, name, new)
    return lambda new: getattr(node, name).__setitem__(k, new)


def _is_left_out(node: ast.AST) -> bool:
    if isinstance(node, _LEFT_OUT):
        return True
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
        return node.func.id == "isinstance"
    if isinstance(node, ast.FunctionDef | ast.ClassDef):
        return bool(_COSMETIC.search(node.name))
    if isinstance(node, ast.If | ast.While):
        refuses = isinstance(node, ast.If) and not node.orelse
        if refuses and all(isinstance(inner, ast.Raise) for inner in node.body):
            return True
        return bool(_COSMETIC.search(ast.unparse(node.test)))
    has_body = hasattr(node, "body")
    return isinstance(node, ast.stmt) and not has_body and _is_cosmetic(node)


def _is_cosmetic(node: ast.stmt) -> bool:
    return bool(_COSMETIC.search(ast.unparse(node)))


def _changes(node: ast.AST, is_condition: bool) -> Iterator[ast.AST]:
    """What may stand in the place of a node."""
    match node:
        case ast.Compare(ops=operators):
            for k, operator in enumerate(operators):
                if type(operator) in _OPERATORS:
                    changed = copy.copy(node)
                    changed.ops = [*operators[:k], _other(operator), *operators[k + 1 :]]
                    yield changed
        case (
            ast.BinOp(op=ast.Add() | ast.Sub())
            | ast.BoolOp()
            | ast.AugAssign(op=ast.Add() | ast.Sub())
        ):
            changed = copy.copy(node)
            changed.op = _other(node.op)
            yield changed
        case ast.UnaryOp(op=ast.Not() | ast.USub(), operand=operand):
            yield operand
        case ast.Constant(value=bool() | int() | float()):
            yield from (ast.copy_location(ast.Constant(v), node) for v in _numbers(node.value))
        case ast.Call(func=ast.Name(id=name)) if name in _NAMES:
            changed = copy.copy(node)
            changed.func = ast.copy_location(ast.Name(_NAMES[name], ast.Load()), node)
            yield changed
        case ast.Call(func=ast.Attribute(attr=name)) if name in _NAMES:
            changed = copy.copy(node)
            changed.func = copy.copy(node.func)
            changed.func.attr = _NAMES[name]
            yield changed
    is_negated = isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not)
    is_equality = isinstance(node, ast.Compare) and isinstance(node.ops[0], ast.Eq | ast.NotEq)
    if is_condition and not is_negated and not is_equality:
        yield ast.copy_location(ast.UnaryOp(ast.Not(), node), node)


def _other(operator: ast.AST) -> Any:
    return _OPERATORS[type(operator)]()


def _numbers(value: bool | int | float) -> tuple[bool | int | float, ...]:
    if isinstance(value, bool):
        return (not value,)
    if abs(value) >= SENTINEL:
        return ()
    if isinstance(value, int):
        return (value + 1, value - 1) if value > 0 else (value + 1,)
    return (value * 1000.0,) if 0 < abs(value) < TOLERANCE else (value + 1.0,)
