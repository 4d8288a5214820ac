"""Around a lesson: which one, how to share it, its steps, and the full-screen presentation."""

import json

import streamlit as st

from dashboard import session
from dashboard.teaching import lessons
from dashboard.teaching.lessons import DRAWN, Lesson
from dashboard.widgets import inputs
from dashboard.widgets.component import make_component
from dashboard.widgets.frame import FOLDER
from octcore.data.synthetic import list_generators
from octcore.errors import OctError
from octcore.formulations.base import get_formulation
from octcore.plotting import text

POINTS, GUESS, ALL, GOOD, PROOF = "points", "guess", "all", "good", "proof"
PRESENT = "present"
MOST_SHOWN = 6

FULL_SCREEN = '<button type="button" title="The whole screen; Esc ends it">Full screen</button>'
_full_screen = make_component("full_screen", FULL_SCREEN, "pressed")


def is_presenting() -> bool:
    """Whether the page shows nothing but the lesson."""
    return st.query_params.get(PRESENT) == "1"


def plane_height() -> int:
    """Height of a plane that has half of the page, in pixels."""
    return 640 if is_presenting() else 540


def current() -> Lesson:
    """The lesson of the link, else the one that was open, else the first one."""
    given = {k: v for k, v in st.query_params.to_dict().items() if k not in lessons.IGNORED}
    shown = session.state().lesson
    if given and (shown is None or given != lessons.to_query(shown)):
        try:
            session.open_lesson(lessons.lesson_from(given))
        except OctError as error:
            words = f"This link is not a lesson: {error.message}"
            st.error(text.markdown(words, 500), icon=":material/link_off:")
            if shown is None:
                session.state().lesson = lessons.default_lesson()
            return session.state().lesson or lessons.default_lesson()
    if session.state().lesson is None:
        session.open_lesson(lessons.default_lesson())
    found = session.state().lesson or lessons.default_lesson()
    keep(found)
    return found


def keep(lesson: Lesson) -> None:
    """Remember a lesson and put it into the address, so that the address is the lesson."""
    session.state().lesson = lesson
    kept = {k: v for k, v in st.query_params.to_dict().items() if k in lessons.IGNORED}
    wanted = {**kept, **lessons.to_query(lesson)}
    if st.query_params.to_dict() != wanted:
        st.query_params.from_dict(wanted)


def draw(lesson: Lesson) -> Lesson:
    """Draw set, formulations, sharing and presentation; returns the lesson as chosen."""
    if is_presenting():
        st.html(FOLDER / "present.css")
        return lesson
    places = st.columns([2.4, 7.2, 1.3, 1.5], vertical_alignment="bottom")
    titles = {made.key: made.title for made in list_generators()} | {DRAWN: "My own points"}
    key = places[0].selectbox(
        "Points",
        list(titles),
        index=list(titles).index(lesson.key),
        format_func=lambda key: titles[key],
        key=session.widget_key("lesson_set", session.state().lessons_opened),
    )
    if key != lesson.key:
        chosen = lessons.to_dict(lessons.default_lesson(key)) | dict(lesson.settings)
        session.open_lesson(lessons.lesson_from(chosen | {"show": lesson.formulations}))
        keep(session.state().lesson or lesson)
        st.rerun()
    known = {info.key: info.teaching_text.name for info in lessons.teachable()}
    shown = places[1].multiselect(
        "Trees",
        list(known),
        default=list(lesson.formulations),
        format_func=lambda key: known[key],
        max_selections=MOST_SHOWN,
        key=session.widget_key("lesson_show", session.state().lessons_opened),
    )
    if shown and tuple(shown) != lesson.formulations:
        lesson = lessons.lesson_from(lessons.to_dict(lesson) | {"show": shown})
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
        key=session.widget_key("lesson_file", session.state().lessons_opened),
    )
    if upload is None:
        return
    if opened := inputs.tried(lambda: lessons.read_lesson(upload.getvalue())):
        session.open_lesson(opened)
        keep(opened)
        st.rerun()


def step_key(lesson: Lesson) -> str:
    """Key of the widget that holds the step."""
    return session.widget_key("lesson_step", ",".join(lesson.formulations))


def steps(lesson: Lesson) -> str:
    """Draw the steps; returns one of those above, or the key of a formulation."""
    names = {POINTS: "The points", GUESS: "Your guess"}
    for key in lesson.formulations:
        names[key] = get_formulation(key).info.teaching_text.name
    names[ALL] = "Side by side"
    names[GOOD] = "All good trees"
    names[PROOF] = "Why no better?"
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
    order = [POINTS, GUESS, *lesson.formulations, ALL, GOOD, PROOF]
    at = order.index(step)
    places = st.columns([3, 3, 3, 2, 2] if is_presenting() else [1, 1, 3])
    ways = (("Back", "arrow_back", -1, "PageUp"), ("Next", "arrow_forward", 1, "PageDown"))
    for place, (label, icon, way, shortcut) in zip(places, ways, strict=False):
        to = at + way
        place.button(
            label,
            icon=f":material/{icon}:",
            width="stretch",
            disabled=not 0 <= to < len(order),
            on_click=go_to,
            args=(lesson, order[to % len(order)]),
            key=f"lesson_{label.lower()}",
            shortcut=shortcut,
        )
    if not is_presenting():
        return
    with places[3]:
        _full_screen({}, "full_screen", lambda _: None)
    if places[4].button("Leave", width="stretch", key="leave"):
        del st.query_params[PRESENT]
        st.rerun()
