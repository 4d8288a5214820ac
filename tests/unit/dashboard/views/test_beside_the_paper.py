"""Figures of a bench file beside those of its paper, on the page Compare."""

from __future__ import annotations

from streamlit.testing.v1 import AppTest

CONTENT = (
    b"suite,dataset,encoding,formulation,depth,parameters,status,objective,bound,gap,seconds,"
    b"reference_seconds\ns-oct,iris,auto,s-oct,2,,optimal,149,149,0,4,12\n"
)


def page(content: bytes) -> None:
    from dashboard.views.compare.profile_upload import _beside_the_paper

    _beside_the_paper(content)


def test_only_what_both_report_is_drawn():
    app = AppTest.from_function(page, kwargs={"content": CONTENT}, default_timeout=60).run()
    assert not app.exception
    assert [expander.label for expander in app.expander] == ["Beside the paper: seconds"]


def test_root_bounds_are_drawn_where_the_optimum_is_known():
    heading, line = CONTENT.decode().splitlines()
    content = f"{heading},reference_objective,root_bound\n{line},149,150\n".encode()
    app = AppTest.from_function(page, kwargs={"content": content}, default_timeout=60).run()
    assert not app.exception
    assert app.expander[-1].label == "Distance of the root bound from the optimum"
    assert any("with all bounds" in caption.value for caption in app.caption)
