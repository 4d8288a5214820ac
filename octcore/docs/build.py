"""What building the wheel adds: the type stub of the scikit-learn classes, from their declarations.

`pyproject.toml` names this file to hatchling; an editable installation gets the stub as well.
Declarations stand in modules that import numpy, Pyomo and more.  To read them nothing is computed,
so what octcore does not have itself, and its compiler, is stood in for, as tools for documentation
do: nothing need be installed where the wheel is built.
"""

import importlib.abc
import importlib.machinery
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

from hatchling.builders.hooks.plugin.interface import (  # pyright: ignore[reportMissingImports]
    BuildHookInterface,
)


class _StandIn(type):
    """A class that has every attribute, and gives another one when it is called or indexed."""

    def __getattr__(cls, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return _StandIn(name, (), {})

    def __call__(cls, *_: Any, **__: Any) -> Any:
        return _StandIn("result", (), {})

    __getitem__ = __or__ = __ror__ = __neg__ = __add__ = __sub__ = __mul__ = __truediv__ = __call__
    __rmul__ = __radd__ = __rsub__ = __rtruediv__ = __pow__ = __rpow__ = __call__

    def __fspath__(cls) -> str:
        return "nowhere"


class _StandInModule(ModuleType):
    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return _StandIn(name, (), {})


class _StandInFinder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds whatever is neither octcore nor in the standard library."""

    def find_spec(self, fullname: str, path: Any = None, target: Any = None) -> Any:
        own = fullname.split(".")[0] == "octcore" and fullname != "octcore.numerics.kernels"
        if own or fullname.split(".")[0] in sys.stdlib_module_names:
            return None
        return importlib.machinery.ModuleSpec(fullname, self, is_package=True)

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType:
        return _StandInModule(spec.name)

    def exec_module(self, module: ModuleType) -> None:
        """There is nothing to run."""


def types_without_libraries(root: str) -> str:
    """The stub, read from the sources below `root`; what was imported for it is forgotten again."""
    before, finder = set(sys.modules), _StandInFinder()
    sys.path.insert(0, root)
    sys.meta_path.insert(0, finder)
    try:
        from octcore.docs.class_types import types_of_classes

        return types_of_classes()
    finally:  # whoever builds goes on in this process, with libraries of its own
        sys.path.remove(root)
        sys.meta_path.remove(finder)
        for name in set(sys.modules) - before:
            if name.startswith("octcore") or isinstance(sys.modules[name], _StandInModule):
                del sys.modules[name]


class TypesOfClasses(BuildHookInterface):
    """Write ``octcore/estimator/named.pyi`` and take it into the wheel, although git ignores it."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Run before a wheel is put together."""
        target = Path(self.root, "octcore/estimator/named.pyi")
        target.write_text(types_without_libraries(self.root), encoding="utf-8")
        build_data["artifacts"].append("octcore/estimator/named.pyi")
