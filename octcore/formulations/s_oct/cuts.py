"""The named configurations of S-OCT: where shattering inequalities stand in for big-M rows."""

from __future__ import annotations

from dataclasses import dataclass

from octcore.tree import topology

NODE_SETS = ("root", "last", "all")
CUT_COUNTS = (1, 5, 10, 50, 100)
INIT_ROUNDS = 10
CUT_NAMES = (
    "baseline",
    "init-1",
    "init-5",
    *(f"benders-{nodes}-{k}" for nodes in NODE_SETS for k in CUT_COUNTS),
    *(f"user-{nodes}-{k}" for nodes in NODE_SETS for k in CUT_COUNTS),
)


@dataclass(frozen=True)
class Variant:
    """How the model says that splits are hyperplanes."""

    kind: str
    """One of "baseline", "init", "benders" or "user"."""
    nodes: tuple[int, ...]
    """Branch nodes that are examined for cuts."""
    n_cuts: int
    """Most cuts per node and round."""
    depth: int

    @classmethod
    def named(cls, name: str, depth: int) -> Variant:
        """Read a name such as "benders-last-10"."""
        kind, *rest = name.split("-")
        branch = topology.branch_nodes(depth)
        nodes = {
            "root": (1,),
            "last": tuple(t for t in branch if t >= 2 ** (depth - 1)),
            "all": tuple(branch),
        }
        if kind == "baseline":
            return cls(kind, (), 0, depth)
        if kind == "init":
            return cls(kind, nodes["all"], int(rest[0]), depth)
        return cls(kind, nodes[rest[0]], int(rest[1]), depth)

    @property
    def is_lazy(self) -> bool:
        """Whether some nodes have no big-M rows."""
        return self.kind == "benders"

    @property
    def big_m_nodes(self) -> list[int]:
        """Branch nodes with a plane in the model."""
        lazy = self.nodes if self.is_lazy else ()
        return [t for t in topology.branch_nodes(self.depth) if t not in lazy]

    @property
    def examined(self) -> tuple[int, ...]:
        """Branch nodes where cuts are looked for: lazily all of them, the required ones first."""
        if not self.is_lazy:
            return self.nodes
        return (*self.nodes, *self.big_m_nodes)

    @property
    def claims(self) -> tuple[str, ...]:
        """What the certificate must say about the way it was solved."""
        if self.kind == "user":
            return (
                "cuts were added in rounds at the root; inside the tree the big-M rows stand alone",
            )
        return ()
