"""Independent verification: the optimum that a run claims is derived again by plain means.

Nothing here is shared with the code that made the claim: no search, engine, separation, warm start
or kernel is imported, only numpy, the tree and the error messages.
"""

from octcore.verification.base import Verdict, Verification
from octcore.verification.checking import verify

__all__ = ["Verdict", "Verification", "verify"]
