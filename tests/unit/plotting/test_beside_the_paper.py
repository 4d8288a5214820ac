"""Figures of a bench file beside those of its paper, on the page Compare and in the report."""

from __future__ import annotations

from octcore.bench.profiles import parse_bench
from octcore.plotting.bench_plot import beside_the_paper
from octcore.plotting.palette import LIGHT

CONTENT = (
    b"suite,dataset,encoding,formulation,depth,parameters,status,objective,bound,gap,seconds,"
    b"reference_seconds\ns-oct,iris,auto,s-oct,2,,optimal,149,149,0,4,12\n"
)


def test_only_what_both_report_is_drawn():
    captions = [caption for caption, *_ in beside_the_paper(parse_bench(CONTENT), LIGHT)]
    assert captions == ["Seconds: ours and the paper's"]


def test_root_bounds_are_drawn_where_the_optimum_is_known():
    heading, line = CONTENT.decode().splitlines()
    content = f"{heading},reference_objective,root_bound\n{line},149,150\n".encode()
    caption, _, words = beside_the_paper(parse_bench(content), LIGHT)[-1]
    assert caption == "Distance of the root bound from the optimum"
    assert "with all bounds" in words
