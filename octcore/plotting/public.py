"""The figures of the app for notebooks: a run goes in, a plotly figure comes out.

Every function takes ``theme="light"`` or ``"dark"``, the ground that the figure is made for.
"""

from collections.abc import Mapping, Sequence

import plotly.graph_objects as go
from pandas.core.util.hashing import hash_pandas_object

from octcore.errors import SettingsError
from octcore.formulations.base import objective_words
from octcore.plotting import gap_plot, text
from octcore.plotting.feature_usage import usage_data, usage_figure
from octcore.plotting.layout import framed, ruler, words_at
from octcore.plotting.palette import Palette, ink_on, palette_for
from octcore.plotting.plane_axes import MOST_LEVELS, plane_columns
from octcore.plotting.plane_plot import default_axes, plane_data, plane_figure
from octcore.plotting.price_paths import penalty_path_figure
from octcore.selection.penalty_path import PenaltyPath
from octcore.solving.run import Run
from octcore.solving.settings import question
from octcore.tree.export.drawings import MAX_NAME, MAX_TERMS, Box, layout, node_records


def tree(run: Run, theme: str = "light") -> go.Figure:
    """Draw the tree of a run: its splits in words, the training rows of every node.

    Parameters
    ----------
    run : Run
        With a tree.
    theme : {"light", "dark"}
        Ground of the figure.

    Raises
    ------
    ModelFileError
        If the run has no tree.
    """
    palette, found = palette_for(theme), run.final_tree
    X = y = None
    if run.train is not None:
        X, y = found.encoded(run.encoding, run.train.frame), run.train.y
    boxes = layout(node_records(found, run.encoding, X, y, MAX_NAME, MAX_TERMS))
    bottom = max(box.y + box.height for box in boxes.values())
    title, up = {"text": run.certificate.badge, "font": {"size": 13}}, {"range": [bottom + 8, 0]}
    idle = {"visible": False}
    figure = framed(palette, int(bottom) + 40, x=idle, y=idle | up, title=title)
    for node, box in boxes.items():
        if node > 1:
            _edge(figure, boxes[node // 2], box, palette)
    for node, box in boxes.items():
        label = found.labels.get(node)
        is_leaf = label is not None
        fill = palette.class_colour(found.class_of(label)) if is_leaf else palette.surface
        _box(figure, box, fill, palette)
    return figure


def _edge(figure: go.Figure, parent: Box, child: Box, palette: Palette) -> None:
    x, y = (parent.x, child.x), (parent.y + parent.height, child.y)
    ruler(figure, x, y, color=palette.muted, width=1.2)
    words = "yes" if child.record.arrival == parent.record.words else "no"
    ground = palette.background
    words_at(figure, sum(x) / 2, sum(y) / 2, words, 11, palette.text, bgcolor=ground)


def _box(figure: go.Figure, box: Box, fill: str, palette: Palette) -> None:
    left, right, bottom = box.x - box.width / 2, box.x + box.width / 2, box.y + box.height
    figure.add_scatter(
        x=[left, right, right, left, left],
        y=[box.y, box.y, bottom, bottom, box.y],
        mode="lines",
        fill="toself",
        fillcolor=fill,
        line={"color": palette.muted, "width": 1},
        hoveron="fills",
        name=f"node {box.record.node}",
        hoverinfo="name",
        showlegend=False,
    )
    words = "<br>".join(text.plotly(line, at_most=100) for line in box.lines)
    words_at(figure, box.x, (box.y + bottom) / 2, words, 12, ink_on(fill))


def gap(run: Run, absolute: bool = False, theme: str = "light") -> go.Figure:
    """Draw how the gap closed over the seconds of the search.

    Parameters
    ----------
    run : Run
        Any run.
    absolute : bool
        Incumbent and bound themselves instead of their relative distance.
    theme : {"light", "dark"}
        Ground of the figure.
    """
    proven = run.objective if run.is_optimal else None
    words = objective_words(run.settings)
    record = gap_plot.convergence_data(run.trace, words, proven, run.is_optimal, run.formulation)
    return gap_plot.convergence_figure(record, palette_for(theme), absolute)


def plane(run: Run, x: str | None = None, y: str | None = None, theme: str = "light") -> go.Figure:
    """Draw the training rows in a plane of two raw columns, with the regions of the leaves.

    Parameters
    ----------
    run : Run
        With a tree and its training rows.
    x, y : str or None
        Columns of numbers or of few categories; by default the two that the tree uses most.  All
        other columns are held at their medians or most frequent values.
    theme : {"light", "dark"}
        Ground of the figure.

    Raises
    ------
    ModelFileError
        If the run has no tree, or came without its rows.
    SettingsError
        If no two columns can be axes, or `x` or `y` cannot.
    """
    solved = run.needed
    found, train = solved.tree, solved.train
    possible = plane_columns(train)
    axes = default_axes(found, run.encoding, train)
    if axes is None:
        message = f"A plane needs two columns of numbers, or of at most {MOST_LEVELS} categories."
        raise SettingsError("NO_PLANE", message, "x")
    chosen = (axes[0] if x is None else x, axes[1] if y is None else y)
    for name, setting in zip(chosen, "xy", strict=True):
        if name not in possible:
            message = f"{name!r} cannot be an axis; these can: {', '.join(possible[:12])}."
            raise SettingsError("NOT_AN_AXIS", message, setting)
    if len(set(chosen)) < 2:
        message = f"Both axes show {chosen[0]!r}; choose two columns."
        raise SettingsError("SAME_AXES", message, "y")
    record = plane_data(found, run.encoding, train, *chosen, formulation=run.formulation)
    return plane_figure(record, palette_for(theme))


def features(run: Run, theme: str = "light") -> go.Figure:
    """Draw which raw columns every split uses, by their shares of the absolute weights.

    Raises
    ------
    ModelFileError
        If the run has no tree.
    """
    return usage_figure(usage_data(run.final_tree, run.encoding), palette_for(theme))


def compare(runs: Sequence[Run], scale: gap_plot.Scale = "gap", theme: str = "light") -> go.Figure:
    """Draw several runs on one clock.

    Parameters
    ----------
    runs : sequence of Run
        At least one.
    scale : {"gap", "objective"}
        Relative gap; or incumbent and bound, of the runs with the objective of the first.
    theme : {"light", "dark"}
        Ground of the figure.
    """
    labels = text.unique_labels([run.formulation for run in runs])
    entrants = [
        gap_plot.Entrant(label, run.trace, objective_words(run.settings), problem, optimum)
        for label, run in zip(labels, runs, strict=True)
        for problem in [repr((_rows_of(run), question(run.settings)))]
        for optimum in [run.objective if run.is_proven else None]
    ]
    return gap_plot.race_figure(gap_plot.race_data(entrants, scale), palette_for(theme))


def _rows_of(run: Run) -> object:
    """What is equal for runs on the same training rows."""
    if run.train is None:
        return run.settings.get("data")
    weights = 1.0 if run.sample_weight is None else run.sample_weight
    rows = run.train.frame.assign(**{"": run.train.codes, " ": weights})
    return hash_pandas_object(rows, index=False).tolist()


def size_path(paths: PenaltyPath | Mapping[str, PenaltyPath], theme: str = "light") -> go.Figure:
    """Draw accuracy against the number of leaves of optimal trees.

    Parameters
    ----------
    paths : PenaltyPath or mapping of str to PenaltyPath
        From `octcore.penalty_path`; several by name.
    theme : {"light", "dark"}
        Ground of the figure.
    """
    named = {"optimal trees": paths} if isinstance(paths, PenaltyPath) else dict(paths)
    return penalty_path_figure(named, palette_for(theme))
