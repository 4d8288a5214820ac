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
