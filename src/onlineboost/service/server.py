"""Starts uvicorn over a service, and ends both."""

from __future__ import annotations

import asyncio
import logging
import signal
import socket
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import uvicorn

from onlineboost.service.http import LOCAL, Application
from onlineboost.service.service import Options, Service
from onlineboost.service.sources import Source

logger = logging.getLogger("onlineboost.service")

SWITCH = 0.001  # seconds after which a thread that runs Python lets another one have its turn
MOST_CONNECTIONS = 2048
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
        try:
            await source.run(self.app.service)
        except Exception as error:
            logger.exception("a source has ended")
            self.app.service.source_errors.append(f"{type(source).__name__}: {error}")

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self.app.stopping.set()
        for task in self.reading:
            task.cancel()
        await asyncio.gather(*self.reading, return_exceptions=True)
        await super().shutdown(sockets)


def run(
    folder: Path,
    options: Options,
    host: str,
    port: int,
    *,
    token: str | None,
    most_body: int,
    sources: Sequence[Source],
    ready: Callable[[str], None],
) -> None:
    """Serve a folder until a signal comes."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listening = socket.socket(family, socket.SOCK_STREAM)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((host, port))
    except OSError as error:
        listening.close()
        raise OSError(error.errno, error.strerror, f"{host}:{port}") from None
    sys.setswitchinterval(SWITCH)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    service = Service(folder, options)
    try:
        service.start()
        hosts = LOCAL if token is None else ()
        app = Application(service, token=token, most_body=most_body, hosts=hosts)
        config = uvicorn.Config(
            app,
            http="httptools",
            ws="none",
            lifespan="off",
            log_level="warning",
            access_log=False,
            server_header=False,
            limit_concurrency=MOST_CONNECTIONS,
            timeout_graceful_shutdown=GRACE,
        )
        name, number = listening.getsockname()[:2]
        shown = f"[{name}]" if ":" in name else name
        listening.listen(1024)
        server = Server(config, app, sources)
        signal.signal(signal.SIGTERM, lambda *_: setattr(server, "should_exit", True))
        ready(f"http://{shown}:{number}/" + (f"?token={token}" if token else ""))
        server.run(sockets=[listening])
    finally:
        service.stop()
        listening.close()
