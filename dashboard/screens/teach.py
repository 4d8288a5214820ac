"""Two-dimensional lessons: points by recipe or by hand, and trees grown on them step by step."""

from dashboard.views.teach import bar as lesson_bar
from dashboard.views.teach import points as lesson_points
from dashboard.views.teach import steps
from dashboard.views.teach import trees as lesson_trees

lesson = lesson_bar.current()
lesson = lesson_bar.draw(lesson)
step = lesson_bar.steps(lesson)
if step == lesson_bar.POINTS:
    lesson_points.draw(lesson)
elif step == lesson_bar.GUESS:
    steps.guess(lesson)
elif step == lesson_bar.ALL:
    lesson_trees.side_by_side(lesson)
elif step == lesson_bar.GOOD:
    steps.good_trees(lesson)
elif step == lesson_bar.PROOF:
    steps.proof(lesson)
else:
    lesson_trees.one(lesson, step)
lesson_bar.turn_pages(lesson, step)
