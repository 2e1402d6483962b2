"""HTTP: an ASGI application over a service. uvicorn reads the requests, msgspec the bodies (pyarrow those of Arrow)."""

from __future__ import annotations

import asyncio
import logging
import resource
import sys
import time
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from onlineboost.service import arrow, inference
from onlineboost.service.access import JSON, Access, Answer
from onlineboost.service.log import CannotWrite
from onlineboost.service.messages import Ask, Event, Example, Late, Promotion, Wrong, checked, encode
from onlineboost.service.outside import Histogram, description, prometheus
from onlineboost.service.service import Busy, Refused, Service

logger = logging.getLogger("onlineboost.service")

LINES, PLAIN = b"application/x-ndjson", b"text/plain; version=0.0.4; charset=utf-8"
POLICY = b"default-src 'none'; style-src 'unsafe-inline'; script-src 'self'; connect-src 'self'; img-src data:"
SLOWEST = 30.0  # seconds that a body may take to come
MOST_KEY = 180  # bytes of an Idempotency-Key
LARGER = 8  # how often as large as a body the rows of a table may be: names and texts are there once


class Many(NamedTuple):
    """A kind of requests with one item or many: an object, a list of them, lines of them (NDJSON), or a table."""

    one: Any  # decoders
    lines: Any
    table: Any
    work: Callable[[Sequence[Any]], Awaitable[list[Any]]]


class Application:
    """What uvicorn calls for every request."""

    def __init__(self, service: Service, access: Access, most_body: int) -> None:
        self.service, self.access, self.most_body = service, access, most_body
        self.times: dict[str, Histogram] = {}
        self.statuses: dict[tuple[str, int], int] = {}
        self.many = {
            path: _many(item, work, LARGER * most_body)
            for path, item, work in (
                ("/predict", Ask, service.predict),
                ("/learn", Example, service.learn),
                ("/events", Event, service.observe),
                ("/labels", Late, service.label),
            )
        }
        self.gets: dict[str, Callable[[], Awaitable[Answer]]] = {
            "/": _file("page.html", b"text/html; charset=utf-8"),
            "/page.js": _file("page.js", b"text/javascript; charset=utf-8"),
            "/health": self.health,
            "/model": self.model,
            "/audit": self.audit,
            "/metrics": self.metrics,
            "/openapi.json": self.openapi,
        }
        self.posts: dict[str, Callable[[bytes], Awaitable[Answer]]] = {"/promote": self.promote}
        self.stopping = asyncio.Event()
        self._status: tuple[float, dict[str, Any]] = (0.0, {})

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "http":
            began = time.perf_counter()
            try:
                live = scope["path"] == "/live" and scope["method"] == "GET"
                if live and self.access.check(scope, dict(scope["headers"])) is None:
                    return await self._stream(receive, send)
                answer = await self.answer(scope, receive)
            except Exception as error:
                wrong = _as_wrong(error)
                if wrong.status == 500:
                    logger.exception("%s %s", scope["method"], scope["path"])
                answer = Answer(wrong.status, encode(wrong.problem), more=wrong_headers(wrong.status))
            length = b"%d" % len(answer.body)
            headers = [(b"content-type", answer.kind), (b"content-length", length), *answer.more]
            await send({"type": "http.response.start", "status": answer.status, "headers": headers})
            await send({"type": "http.response.body", "body": answer.body})
            self._count(scope["path"], answer.status, time.perf_counter() - began)

    def _count(self, path: str, status: int, seconds: float) -> None:
        known = path if path in self.many or path in self.gets or path in self.posts else "other"
        known = "/v2" if path.startswith("/v2/") else known
        if (found := self.times.get(known)) is None:
            found = self.times[known] = Histogram()
        found.add(seconds)
        self.statuses[known, status] = self.statuses.get((known, status), 0) + 1

    # ------------------------------------------------------------------------------------------------------ requests

    async def answer(self, scope: Any, receive: Any) -> Answer:
        headers, path = dict(scope["headers"]), scope["path"]
        came_in = self.access.check(scope, headers)
        if came_in is not None:
            return came_in
        if scope["method"] in ("GET", "HEAD") and path in self.gets:
            return await self.gets[path]()
        if path == "/v2" or path.startswith("/v2/"):
            return await self._infer(scope["method"], path, headers, receive)
        if path not in self.many and path not in self.posts:
            known = path in self.gets or path == "/live"
            raise Wrong(405 if known else 404, f"{scope['method']} {path} is not here: GET /openapi.json says what is")
        if scope["method"] != "POST":
            raise Wrong(405, f"{path} takes POST")
        body = await self._body(headers, receive)
        if path in self.posts:
            return await self.posts[path](body)
        return await self._answer_many(self.many[path], headers, body)

    async def _answer_many(self, many: Many, headers: dict[bytes, bytes], body: bytes) -> Answer:
        kind = headers.get(b"content-type", JSON)
        lines, table = kind.startswith(LINES), kind.startswith(arrow.KIND)
        given = many.lines(body) if lines else many.table(body) if table else many.one(body)
        items = given if isinstance(given, list) else [given]
        _name(items, headers.get(b"idempotency-key"))
        try:
            out = await many.work(items)
        except Refused as refused:
            raise Wrong(422, str(refused), refused.row if isinstance(given, list) else None, refused.column) from None
        if lines:
            return Answer(200, b"".join(encode(each) + b"\n" for each in out), LINES)
        if table:
            return Answer(200, arrow.write(out), arrow.KIND)
        if isinstance(given, list):
            return Answer(200, encode(out))
        status = {"unknown": 404, "conflict": 409}.get(getattr(out[0], "status", None) or "", 200)
        return Answer(status, encode(out[0]))

    async def _infer(self, method: str, path: str, headers: dict[bytes, bytes], receive: Any) -> Answer:
        """The Open Inference Protocol."""
        body = await self._body(headers, receive) if method == "POST" else b""
        given = headers.get(b"inference-header-content-length", b"")
        length = int(given) if given.isdigit() and len(given) < 20 else None
        return Answer(200, encode(await inference.answer(self.service, method, path, body, length)))

    async def _body(self, headers: dict[bytes, bytes], receive: Any) -> bytes:
        if headers.get(b"content-encoding", b"identity") != b"identity":
            raise Wrong(415, "send the body as it is, without Content-Encoding")
        try:
            if int(headers.get(b"content-length", b"0")) > self.most_body:
                raise self._too_large()
            async with asyncio.timeout(SLOWEST):
                return await self._read(receive)
        except TimeoutError:
            raise Wrong(408, f"the body has not come within {SLOWEST:g} seconds") from None

    async def _read(self, receive: Any) -> bytes:
        parts, size, more = [], 0, True
        while more:
            message = await receive()
            if message["type"] == "http.disconnect":  # what has come may be a part of the lines
                raise Wrong(400, "the connection was closed before the whole body was there")
            parts.append(message.get("body", b""))
            size, more = size + len(parts[-1]), message.get("more_body", False)
            if size > self.most_body:
                raise self._too_large()
        return parts[0] if len(parts) == 1 else b"".join(parts)

    def _too_large(self) -> Wrong:
        return Wrong(413, f"a body may have {self.most_body:,} bytes: send several requests")

    # ------------------------------------------------------------------------------------------------------- answers

    async def _stream(self, receive: Any, send: Any) -> None:
        """Tell the page every second how it is, as long as it is open (server-sent events)."""
        head = [(b"content-type", b"text/event-stream"), (b"cache-control", b"no-store")]
        await send({"type": "http.response.start", "status": 200, "headers": head})
        ends = [asyncio.ensure_future(self._gone(receive)), asyncio.ensure_future(self.stopping.wait())]
        while not any(end.done() for end in ends):
            body = b"data: " + encode(await self.status()) + b"\n\n"
            await send({"type": "http.response.body", "body": body, "more_body": True})
            await asyncio.wait(ends, timeout=1.0, return_when=asyncio.FIRST_COMPLETED)
        for end in ends:
            end.cancel()
        await send({"type": "http.response.body", "body": b""})

    @staticmethod
    async def _gone(receive: Any) -> None:
        while (await receive())["type"] != "http.disconnect":
            pass

    async def status(self) -> dict[str, Any]:
        """What there is to know, at most a second old."""
        if time.monotonic() - self._status[0] > 0.9:
            found = await asyncio.to_thread(self.service.status)
            found["requests"] = {path: times.summary() for path, times in self.times.items()}
            found["memory"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (
                1 if sys.platform == "darwin" else 1024
            )
            self._status = time.monotonic(), found
        return self._status[1]

    async def model(self) -> Answer:
        return Answer(200, encode(await self.status()))

    async def audit(self) -> Answer:
        return Answer(200, encode(await asyncio.to_thread(self.service.answering.monitor.audit)))

    async def metrics(self) -> Answer:
        return Answer(200, prometheus(await self.status(), self.times, self.statuses).encode(), PLAIN)

    async def openapi(self) -> Answer:
        return Answer(200, encode(description()))

    async def promote(self, body: bytes) -> Answer:
        try:
            self.service.promote(_promotion(body).model)
        except Refused as refused:
            raise Wrong(404, str(refused)) from None
        except Busy as error:
            raise Wrong(409, str(error)) from None
        self._status = (0.0, {})
        return Answer(200, encode({"answering": self.service.answering.name}))

    async def health(self) -> Answer:
        problems = self.service.problems()
        body = {
            "status": "ok" if not problems else "problem",
            "problems": problems,
            "behind": self.service.answering.behind,
        }
        return Answer(503 if problems else 200, encode(body))


def _file(name: str, kind: bytes) -> Callable[[], Awaitable[Answer]]:
    async def give() -> Answer:
        return Answer(200, (Path(__file__).parent / name).read_bytes(), kind, ((b"content-security-policy", POLICY),))

    return give


def _many(item: Any, work: Callable[[Any], Awaitable[list[Any]]], most: int) -> Many:
    one, lines = msgspec.json.Decoder(item | list[item]).decode, msgspec.json.Decoder(item).decode_lines
    return Many(checked(one), checked(lines), checked(arrow.reader(item, most)), work)


def _name(items: list[Any], key: bytes | None) -> None:
    """Items without an id get one from the key of a request that may be sent again."""
    if key:
        if len(key) > MOST_KEY:
            raise Wrong(400, f"an Idempotency-Key may have {MOST_KEY} characters, and this has {len(key):,}")
        for at, item in enumerate(items):
            if getattr(item, "id", "") is None:
                item.id = f"{key.decode('latin-1')}/{at}"


def _as_wrong(error: Exception) -> Wrong:
    """What a client is told of an error."""
    match error:
        case Wrong():
            return error
        case Refused():
            return Wrong(422, str(error), error.row, error.column)
        case Busy():
            return Wrong(429, str(error))
        case CannotWrite():
            return Wrong(507, str(error))
    return Wrong(500, "an error of onlineboost, which its log tells: report it")


_promotion = checked(msgspec.json.Decoder(Promotion).decode)


def wrong_headers(status: int) -> tuple[tuple[bytes, bytes], ...]:
    if status == 401:
        return ((b"www-authenticate", b"Bearer"),)
    return ((b"retry-after", b"1"),) if status in (429, 507) else ()
