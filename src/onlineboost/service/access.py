"""Who may come in: hosts, origins, the token, and how many requests a second a client may send."""

from __future__ import annotations

import hmac
import time
from collections.abc import Sequence
from http.cookies import CookieError, SimpleCookie
from typing import Any, NamedTuple
from urllib.parse import parse_qs, urlsplit

from onlineboost.service.messages import Wrong

JSON = b"application/json"
LOCAL = ("localhost", "127.0.0.1", "::1")
COOKIE = "onlineboost"
MOST_CLIENTS = 10_000  # whose requests are counted


class Answer(NamedTuple):
    """What goes back."""

    status: int
    body: bytes
    kind: bytes = JSON
    more: tuple[tuple[bytes, bytes], ...] = ()


class Access:
    """Whether a request may come in: neither another page in the same browser nor who has no token may."""

    def __init__(self, token: str | None, hosts: Sequence[str], most_rate: float = 0.0) -> None:
        self.token, self.hosts, self.most_rate = token, {*hosts}, most_rate
        self._good_hosts: set[bytes] = set()
        self._buckets: dict[str, tuple[float, float]] = {}  # client: requests that it may send, as of a time

    def check(self, scope: Any, headers: dict[bytes, bytes]) -> Answer | None:
        """An error, or an answer that has nothing to do with the service; None: it may come in."""
        if self.most_rate:
            self._check_rate((scope.get("client") or ("",))[0])
        host = headers.get(b"host", b"")
        if self.hosts and host not in self._good_hosts:
            name = host.decode("latin-1")
            if _host_name(name) not in self.hosts:
                raise Wrong(403, f"the host {name!r} is not served, but {', '.join(sorted(self.hosts))}")
            self._good_hosts = {*list(self._good_hosts)[:99], host}
        origin = headers.get(b"origin")
        if origin is not None and origin.partition(b"://")[2] != host:
            raise Wrong(403, "requests of other pages are not answered")
        if self.token is None or scope["path"] == "/health":
            return None
        given = headers.get(b"authorization", b"").decode("latin-1").removeprefix("Bearer ")
        if not given and b"cookie" in headers:
            given = _cookie(headers[b"cookie"].decode("latin-1"))
        if self._is_token(given):
            return None
        asked = parse_qs(scope["query_string"].decode("latin-1")).get("token", [""])[0]
        if scope["method"] == "GET" and scope["path"] == "/" and self._is_token(asked):
            secure = "; Secure" if scope.get("scheme") == "https" else ""
            cookie = f"{COOKIE}={self.token}; HttpOnly; SameSite=Strict; Path=/{secure}".encode()
            return Answer(303, b"", more=((b"location", b"/"), (b"set-cookie", cookie)))
        raise Wrong(401, "send the token: Authorization: Bearer TOKEN; for the page, open /?token=TOKEN")

    def _is_token(self, given: str) -> bool:
        return self.token is not None and hmac.compare_digest(given.encode(), self.token.encode())

    def _check_rate(self, client: str) -> None:
        """A token bucket for each address: it holds what may be sent in a second."""
        now = time.monotonic()
        left, at = self._buckets.get(client, (self.most_rate, now))
        left = min(max(self.most_rate, 1.0), left + (now - at) * self.most_rate)
        if left < 1.0:
            raise Wrong(429, f"more than {self.most_rate:g} requests a second: try again in a second")
        if len(self._buckets) >= MOST_CLIENTS and client not in self._buckets:
            self._buckets.clear()
        self._buckets[client] = left - 1.0, now


def _host_name(given: str) -> str | None:
    try:
        return urlsplit(f"//{given}").hostname
    except ValueError:  # as of "["
        return None


def _cookie(text: str) -> str:
    try:
        found = SimpleCookie(text).get(COOKIE)
        return found.value if found is not None else ""
    except CookieError:
        return ""
