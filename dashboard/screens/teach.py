"""Two-dimensional lessons: points by recipe or by hand, and trees grown on them step by step."""

from functools import partial

from dashboard import session
from dashboard.views.teach import bar as lesson_bar
from dashboard.views.teach import points as lesson_points
from dashboard.views.teach import trees as lesson_trees

OWN = {
    lesson_bar.POINTS: lesson_points.draw,
    lesson_bar.GUESS: lesson_trees.guess,
    lesson_bar.ALL: lesson_trees.side_by_side,
    lesson_bar.GOOD: lesson_trees.good_trees,
    lesson_bar.PROOF: lesson_trees.proof,
}
lesson, place = lesson_bar.draw(lesson_bar.current())
step = lesson_bar.steps(lesson)
OWN.get(step, partial(lesson_trees.one, key=step))(lesson)
lesson_bar.turn_pages(lesson, step)
if place is not None:
    with place:
        lesson_bar.share(session.state().lesson or lesson)
