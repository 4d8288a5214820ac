"""Every lower bound of the exact search, with its reason; kernels and plain Python use the same.

Costs are errors plus a price for every leaf, or errors alone at a given number of leaves; errors
and rows are weighted.
"""

from octcore.numerics.kernels import inner

INFINITE = 1e300  # cost of a tree that cannot be


def deeper_cost(outvoted, price, leaves):
    """Least cost of the trees that have at least some number of leaves.

    Rows that are equal in all columns arrive at one leaf, which errs on all of them but those of
    one class: every tree misclassifies the outvoted ones.  A tree deeper than d has at least
    d + 2 leaves.
    """
    return outvoted + leaves * price


def similar_cost(cost, missing):
    """Least cost on the rows S, from that on the rows S' and the weight of S' without S.

    The best tree of S, with its leaves and labels, is a tree for S' that errs at most on the
    missing rows besides: c(S') <= c(S) + missing.  Rows of S that are not in S' only add errors.
    With a smallest leaf S must lie inside S': leaves that are large enough in S stay so in S'.
    """
    return cost - missing


deeper = inner()(deeper_cost)
similar = inner()(similar_cost)


@inner()
def carry_similar(left, right, passed, n):
    """Carry bounds of both sides of n thresholds of a column to their neighbours, in place.

    Along the column the left side grows and the right side shrinks by the rows between two
    thresholds, of weight ``passed[k] - passed[j]``: the smaller of two sets costs at least
    `similar_cost` of the larger one.  A smallest leaf is no obstacle, since it lies inside.
    """
    for j in range(1, n):
        right[j] = max(right[j], similar(right[j - 1], passed[j] - passed[j - 1]))
    for j in range(n - 2, -1, -1):
        left[j] = max(left[j], similar(left[j + 1], passed[j + 1] - passed[j]))


@inner()
def sweep(left, right, passed, n):
    """Carry bounds that hold without a smallest leaf to all neighbours, in place.

    Fewer rows cost no more: a tree of the larger set serves the smaller one.  A leaf size could
    forbid it there; so this takes costs without one, which bound those with it from below.
    """
    for j in range(1, n):
        left[j] = max(left[j], left[j - 1])
    for j in range(n - 2, -1, -1):
        right[j] = max(right[j], right[j + 1])
    carry_similar(left, right, passed, n)
