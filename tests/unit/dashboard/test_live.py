"""A part of a page that is drawn until something is over."""

from __future__ import annotations

from streamlit.testing.v1 import AppTest


def page() -> None:
    import streamlit as st

    from dashboard.widgets import live

    # Is it over?  No; with the press no and then yes; and yes ever after.
    runs = st.session_state.setdefault("runs", [])
    runs.append(len(runs))
    answers = iter({1: [False, False], 2: [False, True]}.get(len(runs), []))

    def draw() -> None:
        if st.button("Use it"):
            st.session_state["used"] = True

    live.until(lambda: next(answers, True), draw)


def test_a_press_at_the_moment_of_the_end_is_not_lost():
    app = AppTest.from_function(page, default_timeout=60).run()
    app.button[0].click().run()
    assert not app.exception
    assert app.session_state["used"]
    assert len(app.session_state["runs"]) == 3  # the page is drawn once more, as it has ended
