"""Sources by name, and those of brokers: Kafka, and NATS with JetStream. Messages are lines as on stdin.

Where to go on stands in the log, in the same transaction as what was read, so each message is taken once; nothing is
left with the broker. One process reads all partitions of a topic. With a topic `to`, what is said of events without a
label goes there before that transaction: at least once, under the event's id.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from importlib.util import find_spec
from itertools import groupby
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

from onlineboost.data.errors import DataError
from onlineboost.service.messages import Prediction, Read, encode
from onlineboost.service.service import Service
from onlineboost.service.sources import AT_ONCE, PAUSE, GrowingFile, Pipe, Source, take

PATIENCE = 10.0  # seconds for predictions to get to their topic
HOUR = 3600.0


class Kafka:
    """A topic; of transactions, what was committed."""

    def __init__(self, servers: str, topic: str, to: str) -> None:
        self.servers, self.topic, self.to, self.name = servers, topic, to, f"kafka {topic}"

    async def run(self, service: Service) -> None:
        from confluent_kafka import OFFSET_BEGINNING, Consumer, Producer, TopicPartition

        producer = Producer({"bootstrap.servers": self.servers, "enable.idempotence": True}) if self.to else None

        async def tell(said: list[Prediction]) -> None:
            assert producer is not None
            for one in said:
                producer.produce(self.to, encode(one), key=one.id)
            if left := await asyncio.to_thread(producer.flush, PATIENCE):
                raise DataError(f"{self.servers}: {left} predictions did not get to the topic {self.to!r}")

        settings = {"bootstrap.servers": self.servers, "group.id": "onlineboost", "enable.auto.commit": False}
        consumer = Consumer(settings | {"isolation.level": "read_committed", "auto.offset.reset": "earliest"})
        try:
            known = (await asyncio.to_thread(consumer.list_topics, self.topic, 10.0)).topics[self.topic]
            if known.error is not None or not known.partitions:
                raise DataError(f"{self.servers}: no topic {self.topic!r}: {known.error or 'it has no partitions'}")
            starts = {p: service.log.number(f"{self.name} {p}") or OFFSET_BEGINNING for p in known.partitions}
            consumer.assign([TopicPartition(self.topic, p, at) for p, at in starts.items()])
            while True:
                messages = await asyncio.to_thread(consumer.consume, AT_ONCE, PAUSE)
                for message in messages:
                    if (error := message.error()) is not None and not error.retriable():
                        raise DataError(f"{self.name}: {error}")
                good = sorted((each for each in messages if each.error() is None), key=_partition_and_offset)
                for p, part in groupby(good, lambda message: message.partition()):
                    read = [Read(f"{self.name} {p} {m.offset()}", m.value() or b"") for m in part]
                    place = 1 + int(read[-1].key.rpartition(" ")[2])
                    await take(service, read, f"{self.name} {p}", place, tell if producer else None)
        finally:
            consumer.close()


def _partition_and_offset(message: Any) -> tuple[int, int]:
    return message.partition(), message.offset()


class Nats:
    """The messages of a subject that a stream of JetStream keeps."""

    def __init__(self, server: str, subject: str, to: str) -> None:
        self.server, self.subject, self.to, self.name = server, subject, to, f"nats {subject}"

    async def run(self, service: Service) -> None:
        import nats
        from nats.js.api import AckPolicy, ConsumerConfig, DeliverPolicy

        # After a loss it is run again, and reads on from what is in the log: messages on their way then are not lost.
        connection = await nats.connect(f"nats://{self.server}", allow_reconnect=False, error_cb=_leave)

        async def tell(said: list[Prediction]) -> None:
            for one in said:
                await connection.jetstream().publish(self.to, encode(one))

        try:
            start, policy = service.log.number(self.name) + 1, DeliverPolicy.BY_START_SEQUENCE
            how = ConsumerConfig(
                deliver_policy=policy, opt_start_seq=start, ack_policy=AckPolicy.NONE, inactive_threshold=HOUR
            )
            stream = await connection.jetstream().pull_subscribe(self.subject, config=how)
            while True:
                try:
                    messages = await stream.fetch(AT_ONCE, timeout=PAUSE)
                except TimeoutError:  # nothing has come
                    if connection.is_closed:
                        raise DataError(f"{self.server}: the connection was closed") from None
                    continue
                numbers = [message.metadata.sequence.stream for message in messages]
                read = [Read(f"{self.name} {n}", m.data) for n, m in zip(numbers, messages, strict=True)]
                await take(service, read, self.name, numbers[-1], tell if self.to else None)
        finally:
            await connection.close()


async def _leave(error: Exception) -> None:
    """Errors are raised, and told by the one who runs it."""


PACKAGES: dict[str, tuple[str, Callable[[str, str, str], Source]]] = {
    "kafka": ("confluent_kafka", Kafka),
    "nats": ("nats", Nats),
}


def source(given: str, target: str) -> Source:
    """The source that an option names; `target` is the column of a file with the labels."""
    if given == "-":
        return Pipe()
    if Path(given).suffix == ".csv":
        return GrowingFile(Path(given), target)
    parts = urlsplit(given)
    if parts.scheme not in PACKAGES or not parts.netloc or not parts.path.strip("/"):
        raise DataError(
            f"{given!r} is not a source: give - for lines on stdin, a .csv file that grows, kafka://SERVER:PORT/TOPIC "
            f"or nats://SERVER:PORT/SUBJECT, both with ?to=TOPIC for predictions"
        )
    module, kind = PACKAGES[parts.scheme]
    if find_spec(module) is None:
        raise DataError(f"{given} needs {module}: pip install 'onlineboost[{parts.scheme}]'")
    asked = parse_qs(parts.query)
    if parts.query and (asked.keys() != {"to"} or len(asked["to"]) > 1):
        raise DataError(f"{given!r}: behind ? there may only be to=TOPIC, where predictions go")
    return kind(parts.netloc, parts.path.strip("/"), asked.get("to", [""])[0])
