"""Starts uvicorn over a service, and ends both."""

from __future__ import annotations

import asyncio
import logging
import resource
import signal
import socket
import ssl
import sys
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import uvicorn
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from onlineboost.data.errors import DataError
from onlineboost.service.access import LOCAL, Access
from onlineboost.service.http import Application
from onlineboost.service.service import Options, Service
from onlineboost.service.sources import Source
from onlineboost.service.watch import Watch

logger = logging.getLogger("onlineboost.service")

SWITCH = 0.001  # seconds after which a thread that runs Python lets another one have its turn
MOST_CONNECTIONS, OTHER_FILES = 2048, 100
SLOWEST = 30.0  # seconds that the head of a request may take to come
AGAIN = 5.0  # seconds after which a source that could not be read is tried again
GRACE = 5  # seconds that requests have to end


class Server(uvicorn.Server):
    """Reads sources beside the requests, and tells open pages that it is about to end."""

    def __init__(self, config: uvicorn.Config, app: Application, sources: Sequence[Source]) -> None:
        super().__init__(config)
        self.app, self.sources = app, sources
        self.reading: list[asyncio.Task[None]] = []

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self.reading = [asyncio.create_task(self._read(source)) for source in self.sources]

    async def _read(self, source: Source) -> None:
        """Read a source; when that fails, tell, and try again."""
        errors = self.app.service.source_errors
        while True:
            task = asyncio.create_task(source.run(self.app.service))
            try:
                await asyncio.wait((task,), timeout=AGAIN)
                if not task.done():
                    errors.pop(source.name, None)
                return await task
            except asyncio.CancelledError:
                task.cancel()
                await asyncio.gather(task, return_exceptions=True)
                raise
            except Exception as error:
                if errors.get(source.name) != str(error):
                    logger.warning("%s cannot be read, tried again every %g seconds: %s", source.name, AGAIN, error)
                errors[source.name] = str(error)
            await asyncio.sleep(AGAIN)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self.app.stopping.set()
        for task in self.reading:
            task.cancel()
        await asyncio.gather(*self.reading, return_exceptions=True)
        await super().shutdown(sockets)


class Protocol(HttpToolsProtocol):
    """Closes a connection whose request line and headers take too long to come."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self.slow = self.loop.call_later(SLOWEST, transport.close)

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self.slow.cancel()
        self.slow = self.loop.call_later(SLOWEST, self.transport.close)

    def on_headers_complete(self) -> None:
        self.slow.cancel()
        super().on_headers_complete()

    def connection_lost(self, exc: Exception | None) -> None:
        self.slow.cancel()
        super().connection_lost(exc)


@dataclass
class Listen:
    """Where a service listens, to whom, and to how much."""

    host: str = "127.0.0.1"
    port: int = 0  # any that is free
    token: str | None = None
    most_body: int = 16  # MB
    most_rate: float | None = None  # requests a second of an address; None: any
    tls_certificate: Path | None = None
    tls_key: Path | None = None
    webhook: str | None = None  # where notices go


def run(
    folder: Path, options: Options, listen: Listen, sources: Sequence[Source], ready: Callable[[str], None]
) -> None:
    """Serve a folder until a signal comes."""
    _check_certificate(listen)
    sys.setswitchinterval(SWITCH)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    with closing(listening_at(listen.host, listen.port)) as listening, Service(folder, options) as service:
        service.start()
        access = Access(listen.token, (*LOCAL, listen.host) if listen.token is None else (), listen.most_rate or 0.0)
        app = Application(service, access, 1_000_000 * listen.most_body)
        config = uvicorn.Config(
            app,
            http=Protocol,
            ws="none",
            lifespan="off",
            log_level="warning",
            log_config=None,
            access_log=False,
            server_header=False,
            limit_concurrency=_most_connections(),
            timeout_graceful_shutdown=GRACE,
            ssl_certfile=listen.tls_certificate,
            ssl_keyfile=listen.tls_key,
        )
        name, number = listening.getsockname()[:2]
        shown = f"[{name}]" if ":" in name else name
        listening.listen(1024)
        server = Server(config, app, sources)
        signal.signal(signal.SIGTERM, lambda *_: setattr(server, "should_exit", True))
        scheme = "http" if listen.tls_certificate is None else "https"
        ready(f"{scheme}://{shown}:{number}/" + (f"?token={listen.token}" if listen.token else ""))
        with Watch(service, listen.webhook):
            server.run(sockets=[listening])


def _check_certificate(listen: Listen) -> None:
    if listen.tls_certificate is not None:
        try:
            ssl.create_default_context(ssl.Purpose.CLIENT_AUTH).load_cert_chain(listen.tls_certificate, listen.tls_key)
        except OSError as error:
            raise DataError(
                f"{listen.tls_certificate} with {listen.tls_key} cannot be used for TLS: {error}. Name two files in "
                f"the format PEM, a certificate and its key"
            ) from None


def listening_at(host: str, port: int) -> socket.socket:
    """A socket for requests; an error that names the place if it is taken."""
    listening = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET, socket.SOCK_STREAM)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((host, port))
    except OSError as error:
        listening.close()
        raise OSError(error.errno, error.strerror, f"{host}:{port}") from None
    return listening


def _most_connections() -> int:
    """As many as leave some of the files that a process may have open; it may have as many as the system lets it."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = MOST_CONNECTIONS + OTHER_FILES
    if 0 <= soft < wanted:
        soft = wanted if hard < 0 else min(hard, wanted)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    return max(1, MOST_CONNECTIONS if soft < 0 else min(MOST_CONNECTIONS, soft - OTHER_FILES))
