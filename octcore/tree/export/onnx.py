"""A tree as an ONNX graph, in double precision, with an input for every column that it tests."""

import importlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from octcore.data.columns import Column
from octcore.data.text import free_name
from octcore.encoding.base import Encoding
from octcore.errors import SettingsError
from octcore.tree.export.code import Asked, Dialect, to_code
from octcore.tree.tree import Tree

OPERATORS, FILE = 19, 9  # versions of the operators, the first that compare texts, and of the file


def to_onnx(tree: Tree, encoding: Encoding, columns: Iterable[Column] = ()) -> bytes:
    """Write a tree as an ONNX model.

    Its inputs bear the names of the raw columns and have shape ``(n_samples, 1)``: numbers as
    doubles, NaN where one is missing, and texts, empty where one is missing.  Its output ``label``
    of the same shape is the class as text, empty where a row gets none (see `to_code`).

    Raises
    ------
    SettingsError
        If the package onnx is not installed (``NO_ONNX``), or the tree tests no column.
    """
    graph = _Graph(require_onnx(), encoding.raw_features)
    if not tree.splits:
        raise SettingsError("NO_SPLIT", "A tree of one leaf tests no column: ONNX has no input.")
    to_code(tree, encoding, graph.dialect(), columns)
    return graph.content


def require_onnx() -> Any:
    """Load what makes ONNX nodes, or say in a sentence that it is not installed."""
    try:
        return importlib.import_module("onnx.helper")
    except ImportError as error:
        message = "ONNX needs the package onnx; install it with pip install 'octcore[onnx]'."
        raise SettingsError("NO_ONNX", message) from error


class _Graph:
    """Nodes and constants as they come; an expression is the name of what it gives."""

    def __init__(self, helper: Any, taken: Sequence[str]) -> None:
        self.taken, self.helper = taken, helper
        self.kinds = importlib.import_module("onnx").TensorProto
        self.made: dict[tuple[Any, ...], tuple[str, Any]] = {}
        self.content = b""

    def dialect(self) -> Dialect:
        """Forms that add a node instead of writing text."""
        return Dialect(
            choose=_Form(self, "Where"), both=_Form(self, "And"), either=_Form(self, "Or"),
            neither=_Form(self, "Not"), equal=_Form(self, "Equal"),
            equal_text=_Form(self, "Equal"), gap=_Form(self, "IsNaN", before="Sub"),
            gap_text=_Form(self, "Equal", (self._text(""),)), none=self._text(""),
            column=lambda _, name: name, text=self._text, frame=self._frame,
            greater=_Form(self, "Greater"), at_most=_Form(self, "LessOrEqual"),
            plus=_Form(self, "Add"), minus=_Form(self, "Sub"), times=_Form(self, "Mul"),
            over=_Form(self, "Div"), group="{0}",
            number=lambda value: self._constant(self.kinds.DOUBLE, float(value)),
        )  # fmt: skip

    def node(self, operator: str, operands: Sequence[str]) -> str:
        """Name of what an operator gives, which is worked out once."""
        new = (self._name(), (operator, list(operands)))
        return self.made.setdefault((operator, *operands), new)[0]

    def _name(self) -> str:
        return free_name(f"octcore:{len(self.made)}", self.taken, "_")

    def _text(self, value: str) -> str:
        return self._constant(self.kinds.STRING, value.encode())

    def _constant(self, kind: int, value: Any) -> str:
        name = self._name()
        tensor = self.helper.make_tensor(name, kind, (), [value])
        return self.made.setdefault((kind, value), (name, tensor))[0]

    def _frame(self, expression: str, columns: Sequence[Asked]) -> str:
        label, made = free_name("label", self.taken, "_"), [*self.made.values()]
        nodes = [(name, *given) for name, given in made if isinstance(given, tuple)]
        nodes.append((label, "Identity", [expression]))
        kinds = {True: self.kinds.STRING, False: self.kinds.DOUBLE}
        value, shape = self.helper.make_tensor_value_info, ["n_samples", 1]
        graph = self.helper.make_graph(
            [self.helper.make_node(operator, given, [name]) for name, operator, given in nodes],
            "tree",
            [value(c.name, kinds[c.is_text], shape, c.unit) for c in columns],
            [value(label, kinds[True], shape)],
            [given for _, given in made if not isinstance(given, tuple)],
        )
        operators = [self.helper.make_opsetid("", OPERATORS)]
        model = self.helper.make_model(graph, opset_imports=operators, producer_name="octcore")
        model.ir_version = FILE
        self.content = model.SerializeToString()
        return ""


@dataclass(frozen=True)
class _Form:
    graph: _Graph
    operator: str
    further: tuple[str, ...] = ()
    before: str = ""  # done first to the operand and itself: no infinite number is left from it

    def format(self, *operands: str) -> str:
        """Add the node."""
        operands = (self.graph.node(self.before, operands * 2),) if self.before else operands
        return self.graph.node(self.operator, (*operands, *self.further))
