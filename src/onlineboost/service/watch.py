"""Tells people: log lines of JSON, and a webhook when accuracy falls, the stream changes, or something is wrong."""

from __future__ import annotations

import json
import logging
import threading
import time
import urllib.request
from collections import deque
from typing import Any

from onlineboost.service.service import Service

logger = logging.getLogger("onlineboost.service")

EVERY = 10.0  # seconds between looks
QUIET = 600.0  # seconds between two notices of a model that the stream has changed, at least
TIMEOUT = 5.0  # seconds for a webhook to answer
MOST_NOTICES = 100  # that wait for a webhook that does not answer
PART = 0.25  # of the learners that restart at once when the stream has changed; the last few do so now and then anyway


class JsonLines(logging.Formatter):
    """A line of JSON for each record; what a record has in `data` is there by name."""

    def format(self, record: logging.LogRecord) -> str:
        told: dict[str, Any] = {
            "time": time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(record.created)) + f".{int(record.msecs):03d}Z",
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        if record.exc_info:
            told["error"] = self.formatException(record.exc_info)
        return json.dumps(told | getattr(record, "data", {}), default=str)


class Watch:
    """Looks at a service now and then, in a thread of its own."""

    def __init__(self, service: Service, webhook: str | None = None) -> None:
        self.service, self.webhook = service, webhook
        self.unsent: deque[dict[str, Any]] = deque(maxlen=MOST_NOTICES)
        self._problems: set[str] = set()
        self._fallen: set[str] = set()
        self._rows = {name: self._changes(name)[0] for name in service.followers}  # up to which changes were told
        self._quiet: dict[str, float] = {}  # until when no more changes of a model are told
        self._failing = False
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, name="watch", daemon=True)

    def __enter__(self) -> Watch:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stopped.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._stopped.wait(EVERY):
            try:
                self.look()
                self.send()
            except Exception:
                logger.exception("the watch")

    def look(self) -> None:
        """Tell what is new since the last look."""
        problems = {*self.service.problems()}
        for problem in problems - self._problems:
            self._tell("problem", problem)
        for problem in self._problems - problems:
            self._tell("solved", f"no more: {problem}")
        self._problems = problems
        for name, each in self.service.followers.items():
            row, texts = self._changes(name)
            if texts and time.monotonic() >= self._quiet.get(name, 0.0):
                self._tell("change", f"{name}: the stream may have changed: {'; '.join(texts)}", name)
                self._quiet[name] = time.monotonic() + QUIET
                self._rows[name] = row
            fell = each.monitor.fell(name in self._fallen)
            if fell is not None and name not in self._fallen:
                now, before = fell
                text = f"{name}: right on {now:.1%} of the last events, and on {before:.1%} of those before"
                self._tell("accuracy fell", text, name)
                self._fallen.add(name)
            elif fell is None and name in self._fallen:
                self._tell("accuracy is back", f"{name}: as often right as before", name)
                self._fallen.discard(name)

    def _changes(self, name: str) -> tuple[int, list[str]]:
        """The row of the last change of the stream that a model has seen, and those that have not been told yet."""
        clf = self.service.followers[name].clf
        known = getattr(self, "_rows", {}).get(name, 0)
        events = clf.events_ if "_model" in clf.__dict__ else []
        least = PART * getattr(clf, "n_learners", 1)
        found = [e for e in events if e.kind == "new panel" or (e.kind == "restart" and len(e.what) >= least)]
        return max((event.row for event in found), default=0), [str(e) for e in found if e.row > known][-5:]

    def _tell(self, kind: str, text: str, model: str | None = None) -> None:
        notice = {"service": self.service.folder.name, "kind": kind, "model": model, "at": time.time(), "text": text}
        logger.log(
            logging.INFO if kind in ("solved", "accuracy is back") else logging.WARNING, text, extra={"data": notice}
        )
        if self.webhook:
            self.unsent.append(notice)

    def send(self) -> None:
        """Send what has not been sent yet, in order; if that fails it is tried again at the next look."""
        while self.unsent and self.webhook:
            body, headers = json.dumps(self.unsent[0]).encode(), {"content-type": "application/json"}
            try:
                request = urllib.request.Request(self.webhook, body, headers)
                urllib.request.urlopen(request, timeout=TIMEOUT).close()
            except OSError as error:
                if not self._failing:
                    logger.warning("the webhook cannot be told, tried again every %g seconds: %s", EVERY, error)
                self._failing = True
                return
            self._failing = False
            self.unsent.popleft()
