"""The page of `onlineboost compare` and of `run --report`: models on one stream, a rare class in front.

It takes records (see `evaluation.prequential.Recorder`), each with a "dataset" and a "system" besides.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape

from onlineboost.evaluation.metrics import METRICS
from onlineboost.evaluation.prequential import Record
from onlineboost.report import charts, page

SHOWN = {name: metric.title for name, metric in METRICS.items() if metric.about}


def comparison_page(records: Sequence[Record], title: str, subtitle: str) -> str:
    """The report of `onlineboost compare`: the same picture for any stream and any models."""
    systems = [record["system"] for record in records]
    colours = {system: charts.COLOURS[i % len(charts.COLOURS)] for i, system in enumerate(systems)}
    look = charts.Look([records[0]["dataset"]], systems, colours, {})
    points = [{**record, "whose": "here"} for record in records]
    charts_of = {
        "Learning curves": (page.CURVES, charts.learning_curves(records, look)),
        "Accuracy against time": ("Up and to the left is better: more often right, in less time. Each step of the time "
                                  "axis is ten times as long as the one before.",
                                  charts.accuracy_and_time(points, look, {})),
        "Edges of the learners": (page.EDGES, charts.spread(records, look, "edges", "edge", systems)),
        "Weights of the votes": (page.ALPHAS,
                                 charts.along_the_chain(records, look, "alphas", "weight (alpha)", systems)),
    }  # fmt: skip
    drawn = [page.section(heading, text, chart) for heading, (text, chart) in charts_of.items() if chart]
    body = [
        f'<h1>{escape(title)}</h1><p class="soft">{escape(subtitle)}</p>',
        _rare(records, look),
        page.section("How good, how fast", "Every row was predicted before its label was learned. Blue: the best on "
                     "the last 20 % of the rows; orange: the further behind, the stronger. Small: where the accuracy "
                     "lies with 95 % confidence. Of log loss and ECE less is better, of all others more. The words are "
                     "explained <a href='#words'>below</a>.", _table(records)),
        _classes(records),
        f'<div class="pair">{"".join(drawn)}</div>',
    ]  # fmt: skip
    boosters = [record["system"] for record in records if "expert_weights" in record]
    if experts := charts.expert_weights(records, look, boosters):
        pairs = [f"<div><h3>{escape(system)}</h3>{chart}</div>" for system, chart in experts.items()]
        side_by_side = f'<div class="pair">{"".join(pairs)}</div>'
        body.append(page.section("Which part of the chain is trusted", page.EXPERTS, side_by_side))
    return page.page(title, "".join(body) + page.words(_words(records)))


RARE = (
    "Few rows are {label}, {share} of all, so the accuracy says little: here is who finds them. A model gives each row "
    "a score, its probability of {label}. <b>Average precision</b>: of the rows with high scores, how many are "
    "{label}; {guess} is guessing. <b>ROC AUC</b>: how often a row of {label} has a higher score than another one; 0.5 "
    "is guessing. <b>Top 1 %</b>: of that part of the rows which has the highest scores, how many are {label} (right), "
    "how many of all {label} are among them (found), and how many times as many as in rows drawn by lot (lift). Small: "
    "where a figure lies with 95 % confidence. ≈: to within 1 % of the rows."
)


def _rare(records: Sequence[Record], look: charts.Look) -> str:
    """How the models rank the rare class, the best first; nothing if no class is rare."""
    ranked = [record for record in records if "ranking" in record]
    if not ranked:
        return ""
    label, share = escape(str(ranked[0]["ranking"]["label"])), ranked[0]["ranking"]["share"]
    lines = ["<tr>" + "".join(f"<th>{heading}</th>" for heading in RARE_HEADINGS) + "</tr>"]
    best = max(record["ranking"]["average_precision"] or 0.0 for record in ranked)
    for record in sorted(ranked, key=lambda record: -(record["ranking"]["average_precision"] or 0.0)):
        found = record["ranking"]
        tail, top, behind = found["tail"], found["top"]["0.01"], (found["average_precision"] or 0.0) - best
        figures = (tail["average_precision"], tail["roc_auc"], top["precision"], top["recall"], top["lift"])
        more = [f"{value:.3f}" for value in map(_number, figures[:-1])] + [f"{_number(figures[-1]):.1f} ×"]
        cells = (
            f"<td {page.shade(behind / page.POINTS if behind < 0.0 else 1.0)}><b>{found['average_precision']:.3f}</b>"
            f"{_small(found['average_precision_interval'])}</td>",
            f"<td>{found['roc_auc']:.3f}{_small(found['roc_auc_interval'])}</td>",
            *(f"<td>{text.replace('nan', '–')}</td>" for text in more),
        )
        lines.append(f'<tr><th class="row">{escape(record["system"])}</th>{"".join(cells)}</tr>')
    text = RARE.format(label=label, share=f"{share:.2%}", guess=f"{share:.3f}")
    return page.section(f"The rare class: {label}", text, page.table(lines), charts.rank_curves(ranked, look))


RARE_HEADINGS = ("", "average precision", "ROC AUC", "average precision, ≈ last 20 %", "ROC AUC, ≈ last 20 %",
                 "top 1 %: right", "top 1 %: found", "top 1 %: lift")  # fmt: skip


def _number(value: float | None) -> float:
    return math.nan if value is None else value


def _table(records: Sequence[Record]) -> str:
    """A line for each model, the best first; a column of measures only where some model has them."""
    shown = _shown(records)
    headings = ["", "last 20 %", "all rows", *shown.values(), "CPU seconds", "rows per CPU second"]
    best = max(record["tail"] for record in records)
    lines = ["<tr>" + "".join(f"<th>{heading}</th>" for heading in headings) + "</tr>"]
    for record in sorted(records, key=lambda r: -r["tail"]):
        share = (record["tail"] - best) / (2 * page.POINTS) if record["tail"] < best else 1.0
        rate = record["rows"] / max(record["seconds"], 1e-9)
        values = (record.get("metrics", {}).get(name) for name in shown)
        measures = "".join("<td>–</td>" if value is None else f"<td>{value:.3f}</td>" for value in values)
        lines.append(
            f'<tr><th class="row">{escape(record["system"])}</th>'
            f"<td {page.shade(share)}><b>{record['tail']:.3f}</b></td>"
            f"<td>{record['full']:.3f}{_interval(record)}</td>{measures}<td>{page.seconds_text(record['seconds'])}</td>"
            f"<td>{rate:,.0f}</td></tr>"
        )
    return page.table(lines)


CLASSES = (
    "A line for each class: how many rows it has, how many of them are found (recall), how many of its predictions are "
    "right (precision), F1, and what its rows were predicted as. Blue: right; orange: taken for another class; the "
    "stronger, the more of the line."
)
OF_A_RARE_CLASS = (
    " The label predicted is the likeliest. Few rows of a rare class are likelier to be of it than not: a lower "
    "threshold on its probability finds more of them, as the curves above show."
)


def _classes(records: Sequence[Record]) -> str:
    """Which classes are taken for which; the best model in front, the others behind a click."""
    shown = [record for record in records if "confusion" in record]
    if not shown:
        return ""
    ranked = any("ranking" in record for record in shown)
    shown.sort(key=lambda one: -((one["ranking"]["average_precision"] or 0.0) if ranked else one["tail"]))
    first, *others = ((escape(record["system"]), page.table(_confused(record))) for record in shown)
    more = (f"<details><summary>{system}</summary>{table}</details>" for system, table in others)
    text = CLASSES + (OF_A_RARE_CLASS if ranked else "")
    return page.section("Which classes are confused", text, f"<h3>{first[0]}</h3>{first[1]}", *more)


def _confused(record: Record) -> list[str]:
    """The confusion matrix of a model, a rare class first, beside the rates of each class."""
    per_class, counts = record["per_class"], record["confusion"]
    front = record.get("ranking", {}).get("label")
    order = sorted(range(len(per_class)), key=lambda c: per_class[c]["label"] != front)
    names = [escape(str(per_class[c]["label"])) for c in order]
    heads = ["", "rows", "recall", "precision", "F1", *names]
    lines = [
        f'<tr class="groups"><th></th><th colspan="4"></th><th colspan="{len(names)}">predicted as</th></tr>',
        "<tr>" + "".join(f"<th>{head}</th>" for head in heads) + "</tr>",
    ]
    for c, name in zip(order, names, strict=True):
        one = per_class[c]
        rates = "".join(f"<td>{one[rate]:.3f}</td>" for rate in ("recall", "precision", "f1"))
        cells = ""
        for said in order:
            share = counts[c][said] / max(one["rows"], 1.0)
            cells += f"<td {page.shade(share if said == c else -share)}>{counts[c][said]:,.0f}</td>"
        lines.append(f'<tr><th class="row">{name}</th><td>{one["rows"]:,.0f}</td>{rates}{cells}</tr>')
    return lines


def _shown(records: Sequence[Record]) -> dict[str, str]:
    """The metrics that some model has, and their titles."""
    measured = [record.get("metrics", {}) for record in records]
    return {name: text for name, text in SHOWN.items() if any(of.get(name) is not None for of in measured)}


def _interval(record: Record) -> str:
    return _small(record.get("interval"))


def _small(interval: Sequence[float] | None) -> str:
    """An interval, or nothing if there is none."""
    if interval is None or math.isnan(interval[0]):
        return ""
    return f"<small>{interval[0]:.3f} to {interval[1]:.3f}</small>"


def _words(records: Sequence[Record]) -> list[str]:
    """The words that are used on the page."""
    shown = {"edges": ("learner", "edge"), "alphas": ("weight of a vote (alpha)",), "snapshots": ("expert", "Hedge")}
    drawn = [word for name, words in shown.items() if any(name in record for record in records) for word in words]
    interval = ["interval"] if any(_interval(record) for record in records) else []
    return ["test, then train", "last 20 %", *interval, *_shown(records).values(), *drawn]
