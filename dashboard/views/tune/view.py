"""A model selection: what it tries and how long, its progress, chart and table, and the best."""

import json
from dataclasses import replace
from functools import partial
from typing import Any

import pandas as pd
import streamlit as st

from dashboard import session
from dashboard.server import jobs, tunings
from dashboard.server.tunings import Plan, Standing, Work
from dashboard.widgets import chart, data_thread, inputs, live, settings_form
from dashboard.widgets.parameter_form import help_of, label_of, parameter_input
from octcore.data.dataset import Dataset
from octcore.data.export import frame_to_csv
from octcore.errors import OctError
from octcore.formulations.base import FormulationInfo
from octcore.parameters import Parameter
from octcore.plotting import text
from octcore.plotting.accuracy import candidate_words, tuning_data, tuning_figure
from octcore.selection.protocols import get_protocol
from octcore.selection.tuning import Candidate
from octcore.solving.settings import SEED

PROTOCOLS = ("k-fold", "10-fold", "repeated", "nested", "75/25", "80/20")


def draw_form(data: Dataset) -> Plan | None:
    """Draw the form; returns None while something in it cannot be used, and says what."""
    session.take_offer(session.TUNE)
    usual = {"formulation": settings_form.USUAL.formulation}
    given = Plan(**session.filled_in(session.TUNE) or usual)
    info = settings_form.formulation_input(_key("formulation"), given.formulation)
    is_given = given.grid and info.key == given.formulation  # others start as usual
    own = given if is_given else Plan(info.key, choice=info.choice)
    axes = {axis.name: axis for axis in tunings.axes_of(info)}
    varied = st.multiselect(
        "Try several values of",
        list(axes),
        default=list(own.grid) or tunings.first_axes(info),
        format_func=lambda name: name.replace("_", " "),
        **session.kept(_key("axes", info.key)),
        help="Every combination of the values below is one candidate.",
    )
    problems: list[str] = []
    grid = {name: _values(axes[name], info, own, problems) for name in axes if name in varied}
    params, depth, encoding = _fixed(info, varied, own)
    protocol, choice = _protocol(info, given.protocol, own.choice)
    limit, seed = st.columns(2)
    with limit:
        words = "For every single training; those that end by it are not proven."
        seconds = settings_form.limit_input(_key("limit"), given.time_limit, words)
    with seed:
        splits = replace(SEED, label="Seed of the splits")
        number = parameter_input(splits, _key("seed"), given=vars(given))
    for problem in problems:
        inputs.say(problem)
    if problems or not varied:
        if not varied:
            st.info("Choose at least one setting to vary.")
        return None
    return Plan(info.key, grid, protocol, choice, depth, encoding, params, seconds, number)


def _key(*parts: object) -> str:
    return session.form_key(session.TUNE, *parts)


def _values(
    axis: Parameter, info: FormulationInfo, given: Plan, problems: list[str]
) -> tuple[Any, ...]:
    options, usual = tunings.suggested(axis, info)
    first = tuple(map(tunings.input_text, given.grid.get(axis.name, ()))) or usual
    picked = st.multiselect(
        label_of(axis),
        dict.fromkeys((*options, *first)),
        default=first,
        accept_new_options=True,
        **session.kept(_key("values", info.key, axis.name)),
        help=f"{help_of(axis)}\n\nType other values.",
    )
    try:
        return tunings.values_of(axis, picked)
    except OctError as error:
        problems.append(error.message)
        return ()


def _fixed(
    info: FormulationInfo, varied: list[str], given: Plan
) -> tuple[dict[str, Any], int, str]:
    """Draw what stays the same for all candidates, folded in a button."""
    depth, encoding, key = given.depth, given.encoding, _key("fixed", info.key)
    with st.expander("What stays the same", icon=":material/push_pin:"):
        if "depth" not in varied:
            depth = settings_form.depth_input(info, f"{key}:depth", depth)
        if "encoding" not in varied:
            encoding = settings_form.encoding_input(info, f"{key}:encoding", encoding)
        params = settings_form.params_popover(info, key, given.params, "Other settings", varied)
    return params, depth, encoding


def _protocol(info: FormulationInfo, given: str, choice: str) -> tuple[str, str]:
    protocols = list(dict.fromkeys((*PROTOCOLS, given)))
    protocol = st.selectbox(
        "Protocol",
        protocols,
        protocols.index(given),
        format_func=lambda key: get_protocol(key).title,
        **session.kept(_key("protocol")),
        accept_new_options=True,
        help="Which rows train, choose and test; stratified by class. Only protocols with test "
        "rows give an accuracy that the choice has not seen. Type 7-fold for other numbers.",
    )
    choice = inputs.switch(
        "Choose by",
        list(tunings.CHOICES),
        _key("choice", info.key),
        tunings.CHOICES,
        default=choice,
        label_visibility="visible",
        help="Fewest features: of the candidates within 2.5 % of the best mean accuracy, the one "
        "with fewest features, as in the MARGOT paper. One standard error: the same among those "
        "within one standard error of the best.",
    )
    return protocol, choice


def start_button(data: Dataset, plan: Plan) -> bool:
    """Say how much work it is and draw the button; returns whether it was pressed."""
    work = inputs.tried(lambda: tunings.work_of(plan, data))
    if work is None:
        return False
    label = f"Try {text.count(work.candidates, 'candidate')}"
    pressed = inputs.wide_button(label, "play_arrow", "tune_start")
    st.caption(work_words(work))
    return pressed


def work_words(work: Work) -> str:
    """Say how many trainings there are and how long they take at most."""
    finals = text.count(work.finals, "final training")
    return (
        f"{text.count(work.candidates, 'candidate')} × {text.count(work.folds, 'split')} + "
        f"{finals} = **{text.count(work.trainings, 'training')}**, one after the other; at most "
        f"{text.seconds(work.longest)} if each takes its whole {text.seconds(work.time_limit)}."
    )


TABLE = "tune_table"


def draw(tuning: str | None) -> None:
    """Draw the model selection that is looked at, with a choice of others; polls until its end."""
    known = {s.job.id: s for s in jobs.tunings(session.token(), session.state().tunings)}
    if tuning not in known:
        _nothing_yet(tuning)
        return
    titles = {key: f"{s.job.title} ({s.job.state})" for key, s in known.items()}
    standing = known[inputs.among("Model selection", titles, tuning, session.look_at_tuning)]
    key = standing.job.id
    data_thread.strip(standing.job, "This selection")
    live.until(lambda: jobs.task(key).is_final, lambda: _live(key), standing.job.is_final)


def _nothing_yet(tuning: str | None) -> None:
    if tuning is not None:
        st.warning("The model selection of this link is gone from this server; start it again.")
        return
    st.info(
        "Choose what to vary and press **Try**: every candidate is trained on some rows and judged "
        "on others, the table fills as the trainings end, and the best goes to the Solve page "
        "with one click.",
        icon=":material/instant_mix:",
    )


def _live(tuning: str) -> None:
    standing = tunings.standing_of(jobs.task(tuning))
    _head(standing)
    if not standing.fits:
        if not standing.job.is_final:
            st.caption("The table starts with the first training.")
        return
    _choice(standing)
    record = tuning_data(standing.fits, standing.best)
    if record.scores:
        chart.show(
            tuning_figure(record, session.palette()),
            key=session.widget_key("tune_chart", tuning),
            alt=f"Mean validation accuracy of {len(record.scores)} candidates with its spread",
        )
        st.caption(
            "Large marks are means over the splits, whiskers one standard deviation, small lines "
            "single splits; the star is the choice."
        )
    _table(standing)


def _head(standing: Standing) -> None:
    left, right = st.columns([3, 1], vertical_alignment="center")
    left.header(text.markdown(standing.job.title, 90), anchor=False)
    job = standing.job
    if job.is_final:
        protocol = get_protocol(standing.result.protocol).title
        words = {"done": "done", "stopped": "stopped; what was trained is kept"}
        left.caption(
            f"{words.get(job.state, job.state)} · {text.count(len(standing.fits), 'training')} in "
            f"{text.seconds(job.elapsed)} · {text.markdown(protocol, 80)}"
        )
        if standing.job.error is not None:
            inputs.say(standing.job.error)
        return
    with right:
        live.stop(job, words="Ends it and keeps what was trained.", width="stretch")
    done, total = len(standing.fits), standing.total
    st.progress(done / total if total else 0.0, text=progress_words(standing))


def progress_words(standing: Standing) -> str:
    """Say how far it is and how long it will take at this pace."""
    done, total = len(standing.fits), standing.total
    if not done:
        return f":material/autorenew: {text.markdown(standing.job.words)}"
    left = (total - done) * sum(fit.seconds for fit in standing.fits) / done
    rest = f", about {text.seconds(left)} to go" if done < total else ""
    spent = text.seconds(standing.job.elapsed)
    return f":material/autorenew: **{done} of {total}** trainings, {spent}{rest}"


def _choice(standing: Standing) -> None:
    """Name the best, with the accuracy on rows that the choice has not seen where there are any."""
    best = standing.best
    if best is None:
        st.warning("No candidate could be trained so far; the table says why.")
        return
    tested = standing.result.test_accuracies
    first, second, third = st.columns([4, 2, 2], vertical_alignment="bottom")
    title = "Best so far" if not standing.result.chosen else "Chosen"
    first.markdown(f"**{title}**  \n{text.markdown(candidate_words(best), 120)}")
    second.metric("Validation", text.percent(standing.mean(best)))
    if tested:
        splits, share = text.count(len(tested), "split"), text.percent(sum(tested) / len(tested))
        span = f"{text.percent(min(tested))} to {text.percent(max(tested))}"
        words = f"Rows that the choice has not seen, {splits}: {span}."
        third.metric("Test", share, help=words)
    if standing.job.is_final:
        key = f"tune_solve:{standing.job.id}"
        _solve_with(standing, best, "Solve with the best", key, type="primary")


def _solve_with(
    standing: Standing, candidate: Candidate, label: str, key: str, **look: Any
) -> None:
    words, icon = "Opens the Solve page with these rows and settings.", ":material/play_circle:"
    if st.button(label, key=key, icon=icon, help=words, **look):
        settings, data = standing.solve_settings(candidate), standing.job.data
        if data is None:
            session.offer(session.SOLVE, settings)
        else:
            data_thread.go_on(data, settings)
        session.open_page("solve")


def shown_table(standing: Standing) -> pd.DataFrame:
    """The table for people: best first, shares in percent."""
    table = standing.table()
    names = [name for name, _ in standing.fits[0].candidate]
    for name in names:
        table[name] = [text.value(value) for value in table[name]]
    table["mean %"] = 100 * table["accuracy"].astype(float)
    table["± %"] = 100 * table["spread"].astype(float)
    table["proven"] = [f"{p} of {n}" for p, n in zip(table["proven"], table["fits"], strict=True)]
    columns = [*names, "mean %", "± %", "leaves", "features", "proven", "seconds"]
    if standing.result.chosen and len(standing.result.chosen) > 1:
        columns.append("chosen")
    if any(table["error"]):
        columns.append("error")
    shown = table.loc[:, columns]
    shown.columns = [name.replace("_", " ") for name in columns]
    return shown


def _table(standing: Standing) -> None:
    table = shown_table(standing).sort_values("mean %", ascending=False, kind="stable")
    as_small = partial(st.column_config.NumberColumn, width="small")
    decimals, added = as_small(format="%.1f"), "Those of every branch node, added up."
    picked = chart.table(
        table,
        session.widget_key(TABLE, standing.job.id),
        f"{len(table)} candidates, best first",
        height=min(420, 38 + 35 * len(table)),
        on_select="rerun" if standing.job.is_final else "ignore",
        selection_mode="single-row",
        column_config={name: decimals for name in ("mean %", "± %", "leaves")}
        | {"features": as_small(format="%.1f", help=added), "seconds": as_small(format="%.2f")},
    )
    if not standing.job.is_final:
        return
    candidates = list(dict.fromkeys(fit.candidate for fit in standing.fits))
    rows = picked["selection"]["rows"]
    left, second, third = st.columns([2, 1, 1], vertical_alignment="center")
    with left:
        if rows and rows[0] < len(table):
            chosen = candidates[int(table.index[rows[0]])]
            _solve_with(standing, chosen, "Solve with this line", f"tune_line:{standing.job.id}")
        else:
            st.caption("Tick a line to solve with it instead.")
    with second:
        inputs.download("CSV", "tuning.csv", lambda: frame_to_csv(standing.table()), "tune_csv",
                        help="The table, one line per candidate.")  # fmt: skip
    with third:
        whole = standing.job.result or standing.result.to_dict()
        whole = {**whole, "settings": dict(standing.job.settings)}
        inputs.download("JSON", "tuning.json",
                        lambda: json.dumps(whole, indent=1, default=str), "tune_json",
                        help="Every training, the choice and the rows of every split.")  # fmt: skip
