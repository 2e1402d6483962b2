"""What other programs are told: metrics in the text format of Prometheus, and the OpenAPI page, made from the types."""

from __future__ import annotations

from bisect import bisect_left
from collections import deque
from collections.abc import Mapping
from itertools import accumulate
from typing import Any

import msgspec

from onlineboost import __version__
from onlineboost.service.arrow import KIND
from onlineboost.service.inference import Infer
from onlineboost.service.messages import Ask, Event, Example, Late, Prediction, Problem, Promotion, Receipt

BUCKETS = (0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0)  # seconds, of histograms
ARROW = KIND.decode()
POSTS: dict[str, tuple[type, type, str]] = {
    "/predict": (Ask, Prediction, "Predict rows."),
    "/learn": (Example, Receipt, "Learn rows with their labels."),
    "/events": (Event, Prediction, "Predict rows now, to be learned when their labels come."),
    "/labels": (Late, Receipt, "The labels of events."),
}
ERRORS = {
    "400": "The body is not JSON.",
    "401": "The token is missing or wrong.",
    "403": "The request comes from another page, or for another host.",
    "404": "There is no such event, model or page.",
    "408": "The body did not come in time.",
    "409": "There is an event of this id with another row or label.",
    "413": "The body is too large.",
    "415": "The body is in an encoding or a format that is not read here.",
    "422": "The body is not what is wanted; row and column say where.",
    "429": "The model is too far behind: try again in a second.",
    "507": "The disk is full: nothing was written.",
}
GETS = {
    "/": ("text/html", "A page to look at."),
    "/health": ("application/json", "200 as long as it predicts and learns; 503 with what is wrong."),
    "/model": ("application/json", "The models, how good they are, and the state of the service."),
    "/audit": ("application/json", "For which of the last rows the probabilities were wrong by more than chance."),
    "/metrics": ("text/plain", "The same for Prometheus."),
    "/live": ("text/event-stream", "The same as /model every second, as server-sent events."),
    "/openapi.json": ("application/json", "This page."),
    "/v2": ("application/json", "The Open Inference Protocol, version 2: what speaks it."),
    "/v2/health/live": ("application/json", "Whether it runs."),
    "/v2/health/ready": ("application/json", "The same."),
    "/v2/models/{model}": ("application/json", "The columns of a model, and what it says."),
    "/v2/models/{model}/ready": ("application/json", "Whether it has learned anything."),
}
INFER = "/v2/models/{model}/infer"
NOTHING = "Nothing has been learned yet."
MODEL = [{"name": "model", "in": "path", "required": True, "schema": {"type": "string"}, "example": "main"}]


def description() -> dict[str, Any]:
    """The OpenAPI page."""
    types = [Ask, Example, Event, Late, Promotion, Prediction, Receipt, Problem, Infer]
    _, schemas = msgspec.json.schema_components(types, ref_template="#/components/schemas/{name}")
    errors = {code: _answer(text, _of(Problem)) for code, text in ERRORS.items()}
    paths: dict[str, Any] = {}
    for path, (given, found, text) in POSTS.items():
        one, other = _one_or_many(given), _one_or_many(found)
        lines = {"application/x-ndjson": {"schema": {"type": "string"}}}
        lines |= {ARROW: {"schema": {"type": "string", "format": "binary"}}}
        body = {"required": True, "content": {"application/json": {"schema": one}, **lines}}
        answer = {
            "200": {"description": "In the same form.", "content": {"application/json": {"schema": other}, **lines}}
        }
        if found is Receipt:
            answer |= {code: _answer(ERRORS[code], {"oneOf": [_of(Receipt), _of(Problem)]}) for code in ("404", "409")}
        if given is Event:
            answer["409"] = _answer(ERRORS["409"], _of(Prediction))
        paths[path] = {"post": {"summary": text, "requestBody": body, "responses": errors | answer}}
    body = {"required": True, "content": {"application/json": {"schema": _of(Promotion)}}}
    promoted = {"200": {"description": "It answers.", "content": {"application/json": {"schema": {"type": "object"}}}}}
    paths["/promote"] = {
        "post": {"summary": "Let another model answer.", "requestBody": body, "responses": errors | promoted}
    }
    for path, (kind, text) in GETS.items():
        told = {"200": {"description": text, "content": {kind: {}}}, "401": errors["401"], "403": errors["403"]}
        if path == "/health":
            told["503"] = {"description": "Something is wrong.", "content": {kind: {}}}
        paths[path] = {"get": {"summary": text, "responses": told}}
        if "{model}" in path:
            paths[path]["parameters"] = MODEL
            told |= {"404": errors["404"], "503": _answer(NOTHING, _of(Problem))}
    body = {"required": True, "content": {"application/json": {"schema": _of(Infer)}}}
    said = {"200": _answer("The outputs.", {"type": "object"}), "503": _answer(NOTHING, _of(Problem))}
    paths[INFER] = {
        "parameters": MODEL,
        "post": {"summary": "Predict.", "requestBody": body, "responses": errors | said},
    }
    about = {"title": "onlineboost serve", "version": __version__, "description": "Predicts and learns live events."}
    return {"openapi": "3.1.0", "info": about, "paths": paths, "components": {"schemas": schemas}}


def _of(kind: type) -> dict[str, str]:
    return {"$ref": f"#/components/schemas/{kind.__name__}"}


def _one_or_many(kind: type) -> dict[str, Any]:
    return {"oneOf": [_of(kind), {"type": "array", "items": _of(kind)}]}


def _answer(text: str, schema: Any) -> dict[str, Any]:
    return {"description": text, "content": {"application/json": {"schema": schema}}}


# ------------------------------------------------------------------------------------------------------- Prometheus


class Histogram:
    """How long requests took."""

    def __init__(self) -> None:
        self.counts, self.sum = [0] * (len(BUCKETS) + 1), 0.0
        self.last: deque[float] = deque(maxlen=1000)

    def add(self, seconds: float) -> None:
        self.counts[bisect_left(BUCKETS, seconds)] += 1
        self.sum += seconds
        self.last.append(seconds)

    def summary(self) -> dict[str, float]:
        """Requests so far, and percentiles of the last ones in seconds."""
        last = sorted(self.last)
        return {"count": sum(self.counts), "p50": last[len(last) // 2], "p99": last[int(0.99 * len(last))]}


def prometheus(status: Mapping[str, Any], times: Mapping[str, Any], statuses: Mapping[tuple[str, int], int]) -> str:
    """The state of a service as metrics."""
    log, models = status["log"], {model["name"]: model for model in status["models"]}
    out: list[str] = []

    def tell(name: str, kind: str, text: str, values: Mapping[str, float | None]) -> None:
        out.extend((f"# HELP onlineboost_{name} {text}", f"# TYPE onlineboost_{name} {kind}"))
        out.extend(f"onlineboost_{name}{labels} {value}" for labels, value in values.items() if value is not None)

    def of_models(get: Any) -> dict[str, float | None]:
        return {_labels(model=name): get(model) for name, model in models.items()}

    tell("up", "gauge", "Whether it predicts and learns.", {"": float(not status["problems"])})
    tell("events_total", "counter", "Events with labels on disk.", {"": log["place"]})
    tell("waiting_events", "gauge", "Events that wait for their labels.", {"": log["waiting"]})
    tell("oldest_waiting_seconds", "gauge", "Age of the oldest of them.", {"": log["oldest"]})
    tell("dropped_events_total", "counter", "Events dropped before their labels came.", {"": log["dropped"]})
    tell("dead_letters", "gauge", "Rows that could not be read or learned.", {"": log["dead"]})
    tell("log_bytes", "gauge", "Size of the log.", {"": log["bytes"]})
    tell(
        "commit_seconds",
        "gauge",
        "Last transactions.",
        {_labels(percentile=q): log["seconds"][q] for q in ("p50", "p99")},
    )
    tell("process_bytes", "gauge", "Most memory that the process has had.", {"": status["memory"]})
    tell(
        "answers", "gauge", "Which model answers.", {_labels(model=n): float(n == status["answering"]) for n in models}
    )
    tell("learned_events", "gauge", "Place of the model in the log.", of_models(lambda model: model["place"]))
    tell("behind_events", "gauge", "Events that it has not learned yet.", of_models(lambda model: model["behind"]))
    tell("snapshot_age_seconds", "gauge", "Of the last one.", of_models(lambda m: status["now"] - m["snapshot"]["at"]))
    tell("model_bytes", "gauge", "Memory of the model.", of_models(lambda m: m.get("memory", {}).get("bytes")))
    tell("model_limit_bytes", "gauge", "Its limit.", of_models(lambda m: m.get("memory", {}).get("limit")))
    for figure in ("accuracy", "balanced_accuracy", "log_loss"):
        tell(figure, "gauge", "Of the last events.", of_models(lambda model, figure=figure: model["last"][figure]))
    tell(
        "requests_total",
        "counter",
        "Requests.",
        {_labels(path=path, status=str(code)): n for (path, code), n in statuses.items()},
    )
    buckets: dict[str, float | None] = {}
    for path, took in times.items():
        for edge, count in zip((*map(str, BUCKETS), "+Inf"), accumulate(took.counts), strict=True):
            buckets[f"_bucket{_labels(path=path, le=edge)}"] = count
        buckets[f"_sum{_labels(path=path)}"], buckets[f"_count{_labels(path=path)}"] = took.sum, sum(took.counts)
    tell("request_seconds", "histogram", "How long they took.", buckets)
    return "\n".join(out) + "\n"


def _labels(**values: str) -> str:
    escaped = (f'{name}="{value}"' for name, value in values.items())
    return "{" + ",".join(escaped) + "}"
