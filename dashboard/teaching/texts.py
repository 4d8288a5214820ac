"""One short text per formulation for a class: what it asks, how it answers, what to look at."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class TeachingText:
    """What stands beside the picture of a tree.

    Parameters
    ----------
    name : str
        Name in two or three words, for a step or a heading.
    idea : str
        What the formulation optimises, in one or two sentences.
    look : str
        What to look at in the picture.
    """

    name: str
    idea: str
    look: str


TEXTS: dict[str, TeachingText] = {
    "cart": TeachingText(
        "Greedy (CART)",
        "Takes the split that makes the two sides purest, then does the same on each side. It "
        "never looks ahead and never takes a split back.",
        "The first line was chosen without knowing what the lines below could do with it. Count "
        "the crosses, then compare with the next picture.",
    ),
    "path-search": TeachingText(
        "Optimal thresholds",
        "Chooses all thresholds together: no other tree of this depth gets more points right, "
        "after the price of its leaves. Bounds show of most trees that they need not be tried.",
        "The first line may look worse than the greedy one. It is right because of what it makes "
        "possible below. Lines still stand square to the axes.",
    ),
    "margot": TeachingText(
        "Optimal margins (MARGOT)",
        "Every split is a support vector machine, and all of them are trained together with the "
        "way that each point takes: wide margins, few points inside them.",
        "Slanted lines, each with its margin band. Ringed points hold the band in place: move one "
        "of them and the line follows; move another one and nothing happens.",
    ),
    "flow-oct": TeachingText(
        "FlowOCT",
        "Every point is a unit of flow that starts at the root and may reach the sink only through "
        "a leaf of its own class. The splits that let most flow through are the best tree.",
        "The tree is that of the optimal thresholds; the proof comes from a mixed-integer program "
        "with a tight relaxation.",
    ),
    "bend-oct": TeachingText(
        "BendOCT",
        "FlowOCT without the flows: a master problem guesses the splits, and cuts found by "
        "minimum cuts in the tree tell it which points its guess cannot get right.",
        "The same tree as FlowOCT, from a far smaller model. Replay shows the cuts in the tree.",
    ),
    "accelerated-bend-oct": TeachingText(
        "Accelerated BendOCT",
        "BendOCT with help: stronger cuts, subtrees solved exactly, and the fact that points which "
        "look the same must go the same way.",
        "The same optimum again, with a bound that falls much faster. Compare the gap curves.",
    ),
    "path-columns": TeachingText(
        "Columns of paths",
        "Chooses among whole paths from the root to a leaf, each with the points that it gets "
        "right. Conditions on the whole tree, such as few features, become one row.",
        "The price of a condition: what the best tree loses when it has to keep to it.",
    ),
    "oct": TeachingText(
        "OCT",
        "The first mixed-integer program for optimal trees: variables for splits, thresholds and "
        "the leaf of every point, tied together by large constants.",
        "Thresholds between any two neighbours. The large constants make its bound weak: watch how "
        "long the proof takes.",
    ),
    "oct-binary": TeachingText(
        "OCT on yes/no features",
        "OCT where every feature is yes or no, so that a split only has to choose its feature.",
        "The same optimum as FlowOCT, but the relaxation claims at the start that no point need be "
        "wrong. That is why flow formulations were invented.",
    ),
    "bin-oct": TeachingText(
        "BinOCT",
        "Writes the choice of a threshold in binary digits, so that the model grows with the "
        "logarithm of the number of thresholds.",
        "A full tree of the depth you asked for: it has no price for leaves and uses them all.",
    ),
    "s-oct": TeachingText(
        "S-OCT",
        "Routes the points freely and forbids only what no straight line can do: small sets of "
        "points that cannot be divided as the routing wants.",
        "Slanted lines with the fewest errors. Where the lines lie exactly is decided afterwards, "
        "in the middle of the free strip. Replay shows the sets that were forbidden.",
    ),
    "oct-h": TeachingText(
        "OCT-H",
        "OCT with slanted splits: weights for all features, a price for every feature in a split, "
        "and large constants.",
        "Few errors, but nothing asks for a wide margin: lines may pass close to points.",
    ),
    "svm1-odt": TeachingText(
        "SVM1-ODT",
        "Slanted splits with small weights (the 1-norm), and soft margins that cost where points "
        "come too close.",
        "The 1-norm prefers weights of zero: many lines stay square to an axis.",
    ),
    "hfs-margot": TeachingText(
        "HFS-MARGOT",
        "MARGOT with a hard limit on the number of features in each split.",
        "With one feature per split the lines are square to the axes, yet they still stand in the "
        "middle of their margins.",
    ),
    "sfs-margot": TeachingText(
        "SFS-MARGOT",
        "MARGOT with a soft limit: features beyond the budget of a split have a price.",
        "A line turns slanted only where that is worth the price.",
    ),
    "mm-svm-oct": TeachingText(
        "MM-SVM-OCT",
        "Several classes: splits have the margins of support vector machines, and the classes are "
        "found by the tree itself.",
        "Margins between groups of classes near the root, between single classes below.",
    ),
}


def text_for(key: str, title: str = "") -> TeachingText:
    """Text of a formulation; its title alone where a formulation is new."""
    return TEXTS.get(key) or TeachingText(title or key, "", "")
