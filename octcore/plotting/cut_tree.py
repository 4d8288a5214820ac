"""A cut drawn into the skeleton of the tree: marked nodes, dashed arcs, or a path of splits."""

from __future__ import annotations

import plotly.graph_objects as go

from octcore.plotting import text
from octcore.plotting.layout import base_layout
from octcore.plotting.palette import Palette
from octcore.plotting.replay import CutPicture
from octcore.tree import topology


def place_of(node: int) -> tuple[float, float]:
    """Position of a node: levels downwards, the nodes of a level spread over [0, 1]."""
    level = topology.node_depth(node)
    return (node - 2**level + 0.5) / 2**level, -float(level)


def cut_tree_figure(picture: CutPicture, depth: int, palette: Palette) -> go.Figure:
    """Draw one cut.

    Parameters
    ----------
    picture : CutPicture
        Speaks of nodes, arcs or a path.
    """
    figure = go.Figure(layout=base_layout(palette, height=120 + 90 * depth, has_legend=False))
    on_path = {(m, 2 * m + side): name for m, side, name in picture.path}
    for node in topology.branch_nodes(depth):
        for child in topology.children(node):
            _arc(figure, (node, child), picture, on_path, palette)
    _nodes(figure, picture, depth, palette)
    figure.update_xaxes(visible=False, range=[-0.02, 1.02], fixedrange=True)
    figure.update_yaxes(visible=False, range=[-depth - 0.35, 0.35], fixedrange=True)
    return figure


def _arc(
    figure: go.Figure,
    arc: tuple[int, int],
    picture: CutPicture,
    on_path: dict[tuple[int, int], str],
    palette: Palette,
) -> None:
    (x1, y1), (x2, y2) = (place_of(node) for node in arc)
    line = {"color": palette.muted, "width": 1.2}
    if arc in picture.arcs:
        line = {"color": palette.accent, "width": 4, "dash": "dash"}
    elif arc in on_path:
        line = {"color": palette.accent, "width": 5}
    figure.add_scatter(
        x=[x1, x2], y=[y1, y2], mode="lines", line=line, hoverinfo="skip", showlegend=False
    )
    if arc in on_path:
        is_right = arc[1] % 2
        figure.add_annotation(
            x=(x1 + x2) / 2,
            y=(y1 + y2) / 2,
            text=f"{text.plotly(text.words(on_path[arc]))}: {'no' if is_right else 'yes'}",
            xanchor="left" if is_right else "right",
            xshift=10 if is_right else -10,
            showarrow=False,
            font={"color": palette.text, "size": 13},
        )


def _nodes(figure: go.Figure, picture: CutPicture, depth: int, palette: Palette) -> None:
    nodes = list(topology.all_nodes(depth))
    marked = [node in picture.nodes for node in nodes]
    branch = set(topology.branch_nodes(depth))
    figure.add_scatter(
        x=[place_of(node)[0] for node in nodes],
        y=[place_of(node)[1] for node in nodes],
        mode="markers+text",
        text=[str(node) for node in nodes],
        textfont={"color": palette.text, "size": 13},
        marker={
            "symbol": ["square" if node in branch else "circle" for node in nodes],
            "size": 30,
            "color": palette.surface,
            "line": {
                "color": [palette.accent if is_marked else palette.muted for is_marked in marked],
                "width": [4 if is_marked else 1.2 for is_marked in marked],
            },
        },
        hoverinfo="skip",
        showlegend=False,
    )
