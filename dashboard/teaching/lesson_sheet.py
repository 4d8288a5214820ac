"""The printed sheet of a class: its points to draw on, and a line to write on for each question."""

from dashboard.teaching import lessons
from dashboard.teaching.drawing import proof_figure
from octcore.plotting.palette import LIGHT
from octcore.reports.charts import figure_svg
from octcore.reports.page import escaped, page


def sheet_html() -> str:
    """Make one page a lesson."""
    parts = ["<style>section { break-after: page; } li { margin: 1.1rem 0; } "
             "li::after { content: ''; display: block; border-bottom: 1px solid; height: 1.6rem; }"
             "</style>"]  # fmt: skip
    for number, part in enumerate(lessons.course(), start=1):
        data = lessons.lesson_data(part.lesson)
        picture = figure_svg(proof_figure(data, (), False, LIGHT), part.question)
        tasks = "".join(f"<li>{escaped(task)}</li>" for task in part.tasks)
        parts.append(
            f"<section><h1>{number}. {escaped(part.question)}</h1>"
            f'<div class="picture chart">{picture}</div><ol>{tasks}</ol></section>'
        )
    return page("Three lessons on optimal trees", parts)
