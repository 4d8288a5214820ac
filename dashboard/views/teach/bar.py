"""Around a lesson: which one, how to share it, its steps, and the full-screen presentation."""

from __future__ import annotations

import json
from collections.abc import Mapping

import streamlit as st
from streamlit.components.v2 import component

from dashboard import session
from dashboard.teaching import lessons
from dashboard.teaching.lessons import DRAWN, Lesson
from dashboard.widgets import inputs
from octcore.data.synthetic import list_generators
from octcore.errors import OctError
from octcore.formulations.base import get_formulation
from octcore.plotting import text

POINTS, GUESS, ALL, GOOD = "points", "guess", "all", "good"
PRESENT = "present"
MOST_SHOWN = 6

PRESENT_STYLE = """
<style>
html { font-size: 20px !important; }
[data-testid="stHeader"], [data-testid="stToolbar"] { display: none !important; }
.block-container { padding: 0.6rem 1.6rem 0.4rem 1.6rem !important; max-width: none !important; }
[data-testid="stMetricValue"] { font-size: 1.35rem !important; }
</style>
"""


def is_presenting() -> bool:
    """Whether the page shows nothing but the lesson."""
    return st.query_params.get(PRESENT) == "1"


def plane_height() -> int:
    """Height of a plane that has half of the page, in pixels."""
    return 640 if is_presenting() else 540


def current() -> Lesson:
    """The lesson of the link, else the one that was open, else the first one."""
    given = {k: v for k, v in st.query_params.to_dict().items() if k not in lessons.IGNORED}
    shown = session.lesson()
    if given and (shown is None or given != lessons.to_query(shown)):
        try:
            session.open_lesson(lessons.lesson_from(given))
        except OctError as error:
            words = f"This link is not a lesson: {error.message}"
            st.error(text.markdown(words, 500), icon=":material/link_off:")
            if shown is None:
                session.keep_lesson(lessons.default_lesson())
            return session.lesson() or lessons.default_lesson()
    if session.lesson() is None:
        session.open_lesson(lessons.default_lesson())
    found = session.lesson() or lessons.default_lesson()
    keep(found)
    return found


def keep(lesson: Lesson) -> None:
    """Remember a lesson and put it into the address, so that the address is the lesson."""
    session.keep_lesson(lesson)
    kept = {k: v for k, v in st.query_params.to_dict().items() if k in lessons.IGNORED}
    wanted = {**kept, **lessons.to_query(lesson)}
    if st.query_params.to_dict() != wanted:
        st.query_params.from_dict(wanted)


def draw(lesson: Lesson) -> Lesson:
    """Draw set, formulations, sharing and presentation; returns the lesson as chosen."""
    if is_presenting():
        st.html(PRESENT_STYLE)
        return lesson
    places = st.columns([2.4, 7.2, 1.3, 1.5], vertical_alignment="bottom")
    titles = {made.key: made.title for made in list_generators()} | {DRAWN: "My own points"}
    key = places[0].selectbox(
        "Points",
        list(titles),
        index=list(titles).index(lesson.key),
        format_func=lambda key: titles[key],
        key=session.widget_key("lesson_set", session.lesson_opened()),
    )
    if key != lesson.key:
        chosen = lessons.to_dict(lessons.default_lesson(key)) | dict(lesson.settings)
        session.open_lesson(_from_record(chosen | {"show": lesson.formulations}))
        keep(session.lesson() or lesson)
        st.rerun()
    known = {info.key: info.teaching_text.name for info in lessons.teachable()}
    shown = places[1].multiselect(
        "Trees",
        list(known),
        default=list(lesson.formulations),
        format_func=lambda key: known[key],
        max_selections=MOST_SHOWN,
        key=session.widget_key("lesson_show", session.lesson_opened()),
    )
    if shown and tuple(shown) != lesson.formulations:
        lesson = _from_record(lessons.to_dict(lesson) | {"show": shown})
        keep(lesson)
    with places[2].popover("Share", icon=":material/share:", width="stretch"):
        _share(lesson)
    if places[3].button(
        "Present",
        icon=":material/slideshow:",
        width="stretch",
        key="present",
        help="Large type and nothing else, for a projector. Page Down and Page Up turn the steps.",
    ):
        st.query_params[PRESENT] = "1"
        st.rerun()
    return lesson


def _from_record(record: Mapping[str, object]) -> Lesson:
    plain = {k: v for k, v in record.items() if k not in {"format", "version"}}
    return lessons.lesson_from(plain)


def _share(lesson: Lesson) -> None:
    st.markdown("**This lesson as a link**")
    st.code(lessons.link(lesson, st.context.url or ""), language=None, wrap_lines=True)
    st.caption("It holds the recipe, not the result: it gives the same points anywhere.")
    inputs.download(
        "Save as a file",
        f"lesson-{lesson.key}.json",
        lambda: json.dumps(lessons.to_dict(lesson), indent=1) + "\n",
        "lesson_save",
    )
    upload = st.file_uploader(
        "Open a lesson file",
        type=["json"],
        key=session.widget_key("lesson_file", session.lesson_opened()),
    )
    if upload is None:
        return
    try:
        opened = lessons.read_lesson(upload.getvalue())
    except OctError as error:
        inputs.say(error, 500)
        return
    session.open_lesson(opened)
    keep(opened)
    st.rerun()


def step_key(lesson: Lesson) -> str:
    """Key of the widget that holds the step."""
    return session.widget_key("lesson_step", ",".join(lesson.formulations))


def steps(lesson: Lesson) -> str:
    """Draw the steps; returns `POINTS`, `GUESS`, `ALL`, `GOOD` or the key of a formulation."""
    names = {POINTS: "The points", GUESS: "Your guess"}
    for key in lesson.formulations:
        names[key] = get_formulation(key).info.teaching_text.name
    names[ALL] = "Side by side"
    names[GOOD] = "All good trees"
    picked = st.segmented_control(
        "Step",
        list(names),
        default=POINTS,
        required=True,
        format_func=lambda key: names[key],
        key=step_key(lesson),
        label_visibility="collapsed",
        persist_state="session",
        width="stretch",
    )
    return picked or POINTS


def go_to(lesson: Lesson, step: str) -> None:
    """Turn to a step; for callbacks, before the widgets are drawn."""
    st.session_state[step_key(lesson)] = step


def turn_pages(lesson: Lesson, step: str) -> None:
    """Draw back and next; in a presentation also the way out."""
    order = [POINTS, GUESS, *lesson.formulations, ALL, GOOD]
    at = order.index(step)
    places = st.columns([3, 3, 3, 2, 2] if is_presenting() else [1, 1, 3])
    places[0].button(
        "Back",
        icon=":material/arrow_back:",
        width="stretch",
        disabled=at == 0,
        on_click=go_to,
        args=(lesson, order[max(0, at - 1)]),
        key="lesson_back",
        shortcut="PageUp",
    )
    places[1].button(
        "Next",
        icon=":material/arrow_forward:",
        width="stretch",
        disabled=at == len(order) - 1,
        on_click=go_to,
        args=(lesson, order[min(len(order) - 1, at + 1)]),
        key="lesson_next",
        shortcut="PageDown",
    )
    if not is_presenting():
        return
    with places[3]:
        full_screen_button()
    if places[4].button("Leave", width="stretch", key="leave"):
        del st.query_params[PRESENT]
        st.rerun()


HTML = '<button type="button" title="The whole screen; Esc ends it">Full screen</button>'
CSS = """
button {
  font: inherit; width: 100%; min-height: 40px; padding: 4px 12px; cursor: pointer;
  font-family: var(--st-font, sans-serif); color: var(--st-text-color);
  background: var(--st-background-color); border: 1px solid var(--st-border-color, #8884);
  border-radius: 8px;
}
button:hover { border-color: var(--st-primary-color); color: var(--st-primary-color); }
button:focus-visible { outline: 2px solid var(--st-primary-color); outline-offset: 1px; }
"""
SCRIPT = """
export default function ({ parentElement }) {
  const button = parentElement.querySelector("button");
  button.hidden = !document.fullscreenEnabled;
  button.onclick = () => document.fullscreenElement
    ? document.exitFullscreen()
    : document.documentElement.requestFullscreen().catch(() => { button.hidden = true; });
}
"""

_mount = component("octcore_full_screen", html=HTML, css=CSS, js=SCRIPT)


def full_screen_button() -> None:
    """Draw the button."""
    _mount(key="full_screen")
