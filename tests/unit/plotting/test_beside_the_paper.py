"""Figures of a bench file beside those of its paper, in the report."""

from __future__ import annotations

from octcore.bench.profiles import read_bench
from octcore.plotting.bench_plot import beside_the_paper
from octcore.plotting.palette import LIGHT

CONTENT = (
    b"suite,dataset,encoding,formulation,depth,parameters,status,objective,bound,gap,seconds,"
    b"reference_seconds\ns-oct,iris,auto,s-oct,2,,optimal,149,149,0,4,12\n"
)


def of(content, folder):
    path = folder / "bench.csv"
    path.write_bytes(content)
    return beside_the_paper(read_bench(path), LIGHT)


def test_only_what_both_report_is_drawn(tmp_path):
    captions = [caption for caption, _ in of(CONTENT, tmp_path)]
    assert captions == ["Seconds: ours and the paper's"]


def test_root_bounds_are_drawn_where_the_optimum_is_known(tmp_path):
    heading, line = CONTENT.decode().splitlines()
    content = f"{heading},reference_objective,root_bound\n{line},149,150\n".encode()
    caption, figure = of(content, tmp_path)[-1]
    assert caption == "Distance of the root bound from the optimum"
    assert figure.data[0].z[0][0] == 1 / 149
