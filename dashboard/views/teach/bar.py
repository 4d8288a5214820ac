"""Around a lesson: which one, how to share it, its steps, and the full-screen presentation."""

import json

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from dashboard import session
from dashboard.teaching import lessons
from dashboard.teaching.drawing import sheet_html
from dashboard.teaching.lessons import DRAWN, PRESENT, STEP, Lesson
from dashboard.widgets import inputs
from dashboard.widgets.component import make_component
from dashboard.widgets.frame import FOLDER
from octcore.data.synthetic import list_generators
from octcore.errors import OctError
from octcore.plotting import text

POINTS, GUESS, ALL, GOOD, PROOF = "points", "guess", "all", "good", "proof"
PLANE, SMALL_PLANE = 450, 400
"""Least height of a plane that has half of the page, and of one beside others, in pixels."""
PAGES = "lesson_pages"
"""Key of the bar with back and next, which a presentation pins to the lower edge."""

_full_screen = make_component("full_screen", "pressed")


def is_presenting() -> bool:
    """Whether the page shows nothing but the lesson."""
    return lessons.is_presented(st.query_params)


def current() -> Lesson:
    """The lesson of the link, else the one that was open, else the first one."""
    query = st.query_params.to_dict()
    given = {k: v for k, v in query.items() if k in lessons.LINKED}
    if foreign := sorted(query.keys() - lessons.LINKED - lessons.IGNORED):
        words = f"No part of a lesson, and left out of the link: {', '.join(foreign)}."
        st.info(text.markdown(words, 200), icon=":material/link:")
    found = session.state().lesson
    is_asked = found is None or (session.went_back() and given != lessons.to_query(found))
    if given and is_asked:  # else it may be the address of before
        try:
            found = session.open_lesson(lessons.lesson_from(given))
        except OctError as error:
            words = f"This link is not a lesson: {error.message}"
            st.error(text.markdown(words, 500), icon=":material/link_off:")
            session.state().lesson = found = found or lessons.default_lesson()
            return found
    return keep(found or session.open_lesson(lessons.default_lesson()))


def keep(lesson: Lesson) -> Lesson:
    """Remember a lesson and put it into the address, so that the address is the lesson."""
    session.state().lesson = lesson
    kept = {k: v for k, v in st.query_params.to_dict().items() if k in lessons.IGNORED}
    wanted = {**kept, **lessons.to_query(lesson)}
    if st.query_params.to_dict() != wanted:
        st.query_params.from_dict(wanted)
    return lesson


def draw(lesson: Lesson) -> tuple[Lesson, DeltaGenerator | None]:
    """Draw set, formulations, presentation; returns the lesson as chosen, and where to `share`."""
    st.container(key="unseen").title("Teach", anchor=False)  # for those who hear the page
    if is_presenting():
        st.html(FOLDER / "present.css")
        return lesson, None
    places = st.columns([2, 4, 1.9, 1.7, 2.4], vertical_alignment="bottom")
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
        keep(session.open_lesson(lessons.lesson_from(chosen | {"show": lesson.formulations})))
        st.rerun()
    known = lessons.tree_names(info.key for info in lessons.teachable())
    shown = places[1].multiselect(
        "Trees",
        list(known),
        default=list(lesson.formulations),
        format_func=lambda key: known[key],
        max_selections=lessons.MOST_SHOWN,
        wrap=True,
        key=session.widget_key("lesson_show", session.state().lessons_opened),
    )
    if shown and tuple(shown) != lesson.formulations:
        lesson = keep(lessons.lesson_from(lessons.to_dict(lesson) | {"show": shown}))
    with places[2].popover("Lessons", width="stretch"):
        _course(lesson)
    words = "Large type and nothing else, for a projector. Page Down and Page Up turn the steps."
    if inputs.wide_button("Present", "slideshow", "present", places[4], False, help=words):
        st.query_params[PRESENT] = "1"
        st.rerun()
    return lesson, places[3].popover("Share", width="stretch")


def _course(lesson: Lesson) -> None:
    st.markdown("**A class of 45 minutes**")
    for number, part in enumerate(lessons.course()):
        st.button(
            f"{number + 1}. {part.question}",
            key=f"lesson_of_class_{number}",
            type="primary" if lessons.part_of(lesson) == number else "secondary",
            width="stretch",
            on_click=_open_part,
            args=(number,),
        )
    inputs.download("Sheet to print", "lessons.html", sheet_html, "lesson_sheet")
    st.caption("Presented, the last step of a lesson goes on to the next lesson.")


def _open_part(number: int) -> None:
    """Open a lesson of the class at its first step; for callbacks."""
    lesson = session.open_lesson(lessons.course()[number].lesson)
    st.query_params.pop(STEP, None)
    st.query_params.pop(lessons.GUESS, None)
    keep(lesson)


def share(lesson: Lesson) -> None:
    """Draw what goes to others; last of all, as the page itself changes lesson and step."""
    st.markdown("**This lesson as a link**")
    here = {k: v for k in (STEP, lessons.GUESS) if (v := st.query_params.get(k))}
    st.code(lessons.link(lesson, st.context.url or "", **here), language=None, wrap_lines=True)
    st.caption("It holds the recipe, not the result: it opens the same points and step anywhere.")
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
        keep(session.open_lesson(opened))
        st.rerun()


def step_key(lesson: Lesson) -> str:
    """Key of the widget that holds the step."""
    trees = ",".join(lesson.formulations)
    return session.widget_key("lesson_step", session.state().lessons_opened, trees)


def step_names(lesson: Lesson) -> dict[str, str]:
    """What the steps are called, in their order: those above, and the formulations."""
    trees = lessons.tree_names(lesson.formulations)
    last = {ALL: "Side by side", GOOD: "All good trees", PROOF: "Why no better?"}
    return {POINTS: "The points", GUESS: "Your guess", **trees, **last}


def steps(lesson: Lesson) -> str:
    """Draw the steps; returns one of those above, or the key of a formulation."""
    names = step_names(lesson)
    linked, now, key = st.query_params.get(STEP, POINTS), session.state(), step_key(lesson)
    asked = linked if linked in names else POINTS
    if linked not in (asked, now.lesson_step):  # else its tree was taken out of the lesson
        words = f"This link asks for the step “{linked}”, which this lesson does not have."
        st.error(text.markdown(words, 200), icon=":material/link_off:")
    if session.went_back():
        st.session_state[key] = asked
    elif asked != now.lesson_step and st.session_state.get(key) == asked:
        # The browser spoke before it had the last turn: with the address and step of before.
        st.session_state[key] = now.lesson_step
    look = {"default": asked, "width": "stretch", "wrap": None}
    picked = inputs.switch("Step", list(names), key, names, **look)
    if picked != linked:
        st.query_params[STEP] = picked or POINTS
    now.lesson_step = picked or POINTS
    return now.lesson_step


def go_to(lesson: Lesson, step: str) -> None:
    """Turn to a step; for callbacks, before the widgets are drawn."""
    st.session_state[step_key(lesson)] = session.state().lesson_step = step


def _turn(lesson: Lesson, way: int) -> None:
    """Turn from where one is: a quick second press comes before the browser has the first step."""
    order = list(step_names(lesson))
    at = order.index(session.state().lesson_step) + way
    go_to(lesson, order[max(0, min(at, len(order) - 1))])


def turn_pages(lesson: Lesson, step: str) -> None:
    """Draw back and next; in a presentation also the way out."""
    order = list(step_names(lesson))
    at, part = order.index(step), lessons.part_of(lesson)
    with st.container(key=PAGES):
        places = st.columns([3, 3, 1, 3, 3] if is_presenting() else [1, 1, 3])
    last = part is None or part + 1 == len(lessons.course())
    ways = (("Back", "arrow_back", -1, "PageUp"), ("Next", "arrow_forward", 1, "PageDown"))
    for place, (label, icon, way, shortcut) in zip(places, ways, strict=False):
        to, more = at + way, not last and step == order[-1] and way > 0
        inputs.wide_button(
            "Next lesson" if more else label,
            icon,
            f"lesson_{label.lower()}",
            place,
            is_first=False,
            disabled=not more and not 0 <= to < len(order),
            on_click=_open_part if more else _turn,
            args=(part + 1,) if more and part is not None else (lesson, way),
            shortcut=shortcut,
        )
    if not is_presenting():
        return
    with places[3]:
        _full_screen({}, "full_screen", lambda _: None)
    if places[4].button("Leave", width="stretch", key="leave"):
        del st.query_params[PRESENT]
        st.rerun()
