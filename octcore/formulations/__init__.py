"""The formulations, one file each.

``octcore.formulations()`` lists their declarations.  A package and a function of one name hide each
other, depending on what was imported first; so the package itself can be called.
"""

import sys
import types
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from octcore.formulations.base import FormulationInfo


class _CallablePackage(types.ModuleType):
    def __call__(self) -> "tuple[FormulationInfo, ...]":
        """List all declarations in the order of presentation."""
        from octcore.formulations.base import list_formulations

        return list_formulations()


sys.modules[__name__].__class__ = _CallablePackage
