"""The switches of accelerated BendOCT, and the combinations that they refuse."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from octcore.errors import SettingsError
from octcore.formulations.shared.fixing import FIXING
from octcore.parameters import Choice, Flag, IntRange, Parameter
from octcore.separation.equivalent_points import EquivalentForm
from octcore.separation.path_bound import PathBoundForms


@dataclass(frozen=True)
class Switch(Choice):
    """A switch with a third state: on wherever it is valid."""

    options: tuple[str, ...] = ("auto", "on", "off")

    def check(self, value: object) -> str | None:
        """Accept the three words and the usual words for yes and no."""
        text = str(value).strip().lower()
        if text in self.options:
            return text
        try:
            return "on" if Flag(self.name, False).check(value) else "off"
        except SettingsError:
            return super().check(value)


ACCELERATIONS: tuple[Parameter, ...] = (
    Flag(
        "strengthened_cuts",
        False,
        "",
        "Benders cuts at terminal nodes count half a wrong turn and half the sibling's label; "
        "labels become binary.",
    ),
    Flag(
        "solution_polishing",
        True,
        "",
        "Replace the lowest two levels of every tree that is found by the optimal ones.",
    ),
    Choice(
        "eqp",
        "recursive",
        r"\\beta_J",
        "Equivalent-point inequalities; the later word is the tighter indicator of a separation.",
        options=("off", "basic", "chain", "recursive"),
    ),
    Flag("eqp_disaggregated", True, "", "One row per condition instead of their sum (tighter)."),
    Flag("eqp_group_selection", True, "g_k", "Choose one class per set, not only bound the set."),
    IntRange("eqp_split_size", 2, "|S|", "Most features in a split set.", low=0, high=3),
    Flag("path_bound_cuts", True, "", "Cuts from optimal subtrees of depth two below a path."),
    Switch(
        "bound_negative_samples",
        "auto",
        "J^-",
        "Bound only the rows that the best subtree gets wrong; auto: unless a side constraint "
        "makes that invalid.",
    ),
    Switch(
        "bound_structure",
        "auto",
        "",
        "Demand the best subtree itself below a path; auto: unless a side constraint makes that "
        "invalid.",
    ),
    Flag(
        "probing",
        True,
        "",
        "As a solver probes: below a decided path, try every split of the next node by the path "
        "bounds of its two sides, and exclude those that cannot improve on the best tree.",
    ),
    Flag("search_start", False, "", "Ours: start from the tree of the exact search (10 seconds)."),
    Flag("value_row", False, "V_f", "Ours: rows with the exact value of every split of a node."),
    *FIXING,
)


def equivalent_form(params: Mapping[str, Any]) -> EquivalentForm | None:
    """Form of the equivalent-point inequalities; None for none."""
    if params["eqp"] == "off":
        return None
    return EquivalentForm(params["eqp"], params["eqp_disaggregated"], params["eqp_group_selection"])


def path_bound_forms(params: Mapping[str, Any], couples: bool) -> PathBoundForms | None:
    """Forms of path bound cuts; None for no such cuts.

    `couples`: whether a side constraint couples a subtree with the rest of the tree.
    Raises `SettingsError` if a switch is not valid with the others or with the side constraints.
    """
    wanted = {name: params[name] for name in ("bound_negative_samples", "bound_structure")}
    for name, value in wanted.items():
        if value == "on" and not params["path_bound_cuts"]:
            raise SettingsError(
                "SWITCH_WITHOUT_CUTS",
                f"{name} is a form of path bound cuts, but path_bound_cuts is off; switch it on "
                f"or leave {name} at auto.",
                name,
            )
        if value == "on" and couples:
            raise SettingsError(
                "INVALID_WITH_CONSTRAINTS",
                f"{name} assumes that every subtree may be replaced by a better one, which the "
                f"side constraints do not allow; set {name} to auto or off, then path bound cuts "
                "take the form that stays valid.",
                name,
            )
    if not params["path_bound_cuts"]:
        return None
    if couples:
        return PathBoundForms(negative=False, structure=False, objective=True)
    negative = wanted["bound_negative_samples"] != "off"
    return PathBoundForms(
        basic=not negative, negative=negative, structure=wanted["bound_structure"] != "off"
    )
