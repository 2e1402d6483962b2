"""A chain on a Ray cluster beside one process: whether it is the same, what it costs, and what it survives.

    python benchmarks/cluster.py exact           # hash of all that was learned: streams x parts x blocks x estimators
    python benchmarks/cluster.py cost            # processor time at 1,000 learners
    python benchmarks/cluster.py travel          # bytes from part to part (without Ray)
    python benchmarks/cluster.py pieces          # processor time of a row at each place (without Ray)
    python benchmarks/cluster.py kills           # actors killed at random moments under load
    python benchmarks/cluster.py nodes           # machines lost under load (nodes of one machine)
    python benchmarks/cluster.py namespaces      # two nodes with addresses of their own (Linux, root)

The others need Ray: pip install 'onlineboost[ray]'. "CPU" counts the processor time of all processes, Ray's own
included.
"""

from __future__ import annotations

import hashlib
import os
import pickle
import random
import secrets
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import click
import numpy as np

from onlineboost import AdaBoostOLM, load_dataset, lookup
from onlineboost.chain.experts import Combiner
from onlineboost.cluster import Cluster, Here
from onlineboost.cluster.parts import arrived, new_parcel
from onlineboost.data.frames import rows_of as as_table
from onlineboost.registry import ENTRIES

STREAMS = "electricity,covertype,nursery,isolet,synthetic-abrupt"
PANEL = " with a panel"
PANELS = "adaboost-olm" + PANEL, "online-mbbm" + PANEL
TICK = os.sysconf("SC_CLK_TCK")


def hash_of(clf: Any) -> str:
    """A hash of all that was learned, trees included. (Of a copy: a pickle shows which parts share an array.)"""
    return hashlib.sha256(pickle.dumps(pickle.loads(pickle.dumps(clf._model)))).hexdigest()[:16]


def rows_of(name: str, n: int) -> tuple[Any, Any]:
    """The first rows of a stream; those that are shuffled, shuffled."""
    data = load_dataset(name)
    data = data.shuffled(0) if data.order == "shuffle" else data
    return data.X[:n], data.y[:n]


def fed(run: Any, X: Any, y: Any, block: int) -> Any:
    """Learn a stream, so many rows in a call."""
    for a in range(0, len(y), block):
        run.partial_fit(X[a : a + block], y[a : a + block])
    return run


def pooled() -> Any:
    """The engine of Ray with actors that are used again: to start a process takes seconds."""
    from onlineboost.cluster.ray_engine import RayEngine

    class Pooled(RayEngine):
        def __init__(self, parts: int) -> None:
            super().__init__(parts)
            self.idle: list[Any] = []

        def start(self, index: int) -> Any:
            return self.idle.pop() if self.idle else super().start(index)

        def stop(self, worker: Any) -> None:
            self.idle.append(worker)

        def close(self) -> None:
            """It goes on."""

        def end(self) -> None:
            super().close()

    return Pooled


@click.group()
def main() -> None:
    """Measure a chain on a cluster."""


@main.command()
@click.option("--streams", default=STREAMS, show_default=True)
@click.option("--rows", default=3000, show_default=True)
@click.option("--learners", default=20, show_default=True)
@click.option("--parts", default="1,2,5,16", show_default=True)
@click.option("--blocks", default="1,256,4096", show_default=True)
@click.option(
    "--models",
    default=",".join([*(entry.name for entry in ENTRIES if not entry.is_member), *PANELS]),
    show_default=True,
)
@click.option("--few", default=200, show_default=True, help="Rows where they go one by one.")
@click.option("--here", is_flag=True, help="Parts in this process, without Ray.")
def exact(streams: str, rows: int, learners: int, parts: str, blocks: str, models: str, few: int, here: bool) -> None:
    """Compare hashes. Labels are not named in advance: they turn up in mid-stream."""
    engine = None if here else pooled()(max(map(int, parts.split(","))))
    tried = same = 0
    for stream in streams.split(","):
        X, y = rows_of(stream, rows)
        for model in models.split(","):
            kind = lookup.load(model.removesuffix(PANEL))
            settings = {} if model == "hoeffding-tree" else {"n_learners": learners}
            settings |= {"panel": True} if model.endswith(PANEL) else {}
            wanted = {n: hash_of(kind(**settings).partial_fit(X[:n], y[:n])) for n in {rows, few}}
            for block in map(int, blocks.split(",")):
                n = few if block == 1 else rows
                for count in map(int, parts.split(",")):
                    with Cluster(kind(**settings), count, rows=block, engine=engine or Here()) as run:
                        found = hash_of(fed(run, X[:n], y[:n], 5000).result())
                    tried += 1
                    same += found == wanted[n]
                    if found != wanted[n]:
                        click.echo(f"DIFFERENT: {stream}, {model}, {count} parts, blocks of {block}")
            click.echo(f"{stream}, {model}: {same} of {tried} so far are the same", err=True)
    if engine is not None:
        engine.end()
    click.echo(f"{same} of {tried} runs are the same as one process")
    sys.exit(same < tried)


# ------------------------------------------------------------------------------------------------------------- cost


def cpu_of_tree(root: int) -> float:
    """Seconds of processor time of a process and all below it (Linux)."""
    parents: dict[int, int] = {}
    ticks: dict[int, int] = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = path.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        pid = int(path.parent.name)
        parents[pid], ticks[pid] = int(fields[1]), int(fields[11]) + int(fields[12])
    below = {root}
    for _ in range(8):
        below |= {pid for pid, parent in parents.items() if parent in below}
    return sum(ticks.get(pid, 0) for pid in below) / TICK


@main.command()
@click.option("--stream", default="movement", show_default=True)
@click.option("--rows", default=49152, show_default=True)
@click.option("--learners", default=1000, show_default=True)
@click.option("--parts", default=2, show_default=True)
@click.option("--repeats", default=1, show_default=True)
def cost(stream: str, rows: int, learners: int, parts: int, repeats: int) -> None:
    """Processor time and wall time, without restarts and memory limit: both make the line wait."""
    X, y = rows_of(stream, rows)
    classes = sorted(set(y))
    settings = {"restart": "never", "memory_limit": None}
    for block in (1024, 4096):
        for _ in range(repeats):
            one = AdaBoostOLM(learners, **settings)
            one.partial_fit(X[:block], y[:block], classes=classes)
            start, cpu = time.perf_counter(), time.process_time()
            fed(one, X[block:], y[block:], block)
            wall_one, cpu_one = time.perf_counter() - start, time.process_time() - cpu
            with Cluster(AdaBoostOLM(learners, **settings), parts, rows=block) as run:
                run.partial_fit(X[:block], y[:block], classes=classes)
                run._line.drain()
                time.sleep(6.0)  # the process that is kept ready has to start, too
                start, cpu = time.perf_counter(), cpu_of_tree(os.getpid())
                fed(run, X[block:], y[block:], block)
                run._line.drain()
                wall, more = time.perf_counter() - start, cpu_of_tree(os.getpid()) - cpu
                figures = run.figures
                same = hash_of(run.result()) == hash_of(one)
            click.echo(
                f"blocks of {block}: one process {wall_one:.1f} s wall, {cpu_one:.1f} s CPU; {parts} parts "
                f"{wall:.1f} s wall, {more:.1f} s CPU: overhead {more / cpu_one - 1:+.1%}, "
                f"speed-up {wall_one / wall:.2f}; same: {same}; {figures}"
            )


@main.command()
@click.option("--stream", default="covertype", show_default=True)
@click.option("--rows", default=2048, show_default=True)
@click.option("--learners", default="100,1000", show_default=True)
def travel(stream: str, rows: int, learners: str) -> None:
    """Bytes from each of four parts to the next, for every row; the frame of blocks of 1,024 rows included."""
    X, y = rows_of(stream, rows)
    for count in map(int, learners.split(",")):
        engine = Here()
        model = AdaBoostOLM(count, restart="never", memory_limit=None)
        with Cluster(model, 4, rows=1024, engine=engine) as run:
            run.partial_fit(X, y, classes=sorted(set(y))).result()
        row, k = 8 * len(run._front._model.encoder.names), len(run.classes_)
        told = ", ".join(f"{engine.bytes_by_hop[hop] / rows:.1f}" for hop in sorted(engine.bytes_by_hop))
        click.echo(f"{count} learners: bytes per row and hop {told} (row {row}, votes {8 * k})")


def microseconds(work: Any, rows: int, repeats: int = 5) -> float:
    """Processor time for each of so many rows, the least of some tries."""
    found = []
    for _ in range(repeats):
        start = time.process_time()
        work()
        found.append(time.process_time() - start)
    return 1e6 * min(found) / rows


def pieces_of(stream: str, rows: int, learners: int) -> dict[str, float]:
    """What a row costs where, after as many rows have been learned."""
    X, y = rows_of(stream, 2 * rows)
    one = AdaBoostOLM(learners, restart="never", memory_limit=None)
    one.partial_fit(X[:rows], y[:rows], classes=sorted(set(y)))
    encoder, chain, k = one._model.encoder, one._model.chain, one._model.k
    table, codes, weight = as_table(X[rows:]), np.zeros(rows, np.int64), np.ones(rows)
    read = microseconds(lambda: encoder.read(table), rows)
    asked = {"combiner": int(Combiner.HEDGE), "costs": None, "heard": False, "traced": False}
    block = new_parcel(encoder.read(table).X, codes, weight, k, **asked)
    block = block._replace(votes={"s": np.zeros((rows, k)), "value": np.zeros(rows), "label": block.y, "notes": {}})
    hop = microseconds(lambda: arrived(pickle.loads(pickle.dumps(block, protocol=5))), rows)
    derive = microseconds(lambda: chain.enter(block.X, codes, weight, k, Combiner.HEDGE), rows)
    learn = microseconds(lambda: one.partial_fit(X[rows:], y[rows:]), rows, 1)
    return {"a tree": (learn - read - derive) / learners, "reading": read, "what a part derives": derive, "a hop": hop}


@main.command()
@click.option("--streams", default="electricity,movement,covertype", show_default=True)
@click.option("--rows", default=4096, show_default=True)
@click.option("--learners", default=20, show_default=True)
def pieces(streams: str, rows: int, learners: int) -> None:
    """Microseconds of processor time for each row, in one process."""
    for stream in streams.split(","):
        found = pieces_of(stream, rows, learners)
        click.echo(f"{stream}: {', '.join(f'{name} {value:.2f}' for name, value in found.items())}")


# ------------------------------------------------------------------------------------------------------- what is lost


def under_fire(run: Any, X: Any, y: Any, strike: Any, times: int, seed: int) -> int:
    """Learn a stream, again and again, while `strike` is called at random moments; how many times it was learned.

    Blocks are under way all the time. The next strike comes when the line has got further than it was before the last.
    """
    draw, passes, due, struck = random.Random(seed), 0, time.monotonic(), 0
    while struck < times or not passes:
        for a in range(0, len(y), 1024):
            run.partial_fit(X[a : a + 1024], y[a : a + 1024])
            late = time.monotonic() - due
            noticed = late > 0.0 and len(run.figures.recoveries) >= struck and not run._line._failures
            if struck < times and (noticed or late > 30.0):
                strike(draw)
                struck += 1
                due = time.monotonic() + draw.uniform(0.5, 4.0)
        passes += 1
    run._line.drain()
    return passes


def report(run: Any, make: Any, X: Any, y: Any, passes: int, strikes: int, seconds: float) -> None:
    """Compare with one process that was not disturbed."""
    found, figures = hash_of(run.result()), run.figures
    one = make()
    for _ in range(passes):
        fed(one, X, y, 1024)
    click.echo(
        f"{strikes} strikes, {len(figures.recoveries)} recoveries, median {np.median(figures.recoveries):.1f} s, "
        f"longest {max(figures.recoveries):.1f} s; {figures.checkpoints} "
        f"checkpoints in {figures.checkpoint_seconds / seconds:.1%} of {seconds:.0f} s; "
        f"the same: {found == hash_of(one)}"
    )


@main.command()
@click.option("--stream", default="electricity", show_default=True)
@click.option("--rows", default=20000, show_default=True)
@click.option("--learners", default=100, show_default=True)
@click.option("--parts", default=3, show_default=True)
@click.option("--kills", "times", default=20, show_default=True)
@click.option("--seed", default=0, show_default=True)
def kills(stream: str, rows: int, learners: int, parts: int, times: int, seed: int) -> None:
    """Kill actors under load."""
    import ray

    X, y = rows_of(stream, rows)

    def make() -> Any:
        return AdaBoostOLM(learners)

    with Cluster(make(), parts, rows=512) as run:
        struck = []

        def strike(draw: random.Random) -> None:
            workers = [worker for worker in (run._line._workers if run._line else []) if worker is not None]
            if workers:
                ray.kill(draw.choice(workers))
                struck.append(1)

        start = time.perf_counter()
        passes = under_fire(run, X, y, strike, times, seed)
        report(run, make, X, y, passes, len(struck), time.perf_counter() - start)


@main.command()
@click.option("--stream", default="electricity", show_default=True)
@click.option("--rows", default=20000, show_default=True)
@click.option("--learners", default=100, show_default=True)
@click.option("--losses", "times", default=5, show_default=True)
@click.option("--seed", default=0, show_default=True)
def nodes(stream: str, rows: int, learners: int, times: int, seed: int) -> None:
    """Take nodes away under load, each with the actors on it; another one comes in its place."""
    from ray._private.state import actors
    from ray.cluster_utils import Cluster as Nodes

    X, y = rows_of(stream, rows)

    def make() -> Any:
        return AdaBoostOLM(learners)

    size = {"num_cpus": 2, "object_store_memory": 100 << 20}
    machines = Nodes(initialize_head=True, head_node_args={**size, "num_cpus": 0, "include_dashboard": False})
    others = [machines.add_node(**size) for _ in range(2)]
    try:
        with Cluster(make(), 3, rows=512, address=machines.address) as run:
            struck = []

            def strike(draw: random.Random) -> None:
                homes = {actor["Address"]["NodeID"] for actor in actors().values() if actor["State"] == "ALIVE"}
                with_parts = [node for node in others if node.node_id in homes] or others
                lost = draw.choice(with_parts)
                others.remove(lost)
                machines.remove_node(lost, allow_graceful=False)
                others.append(machines.add_node(**size))
                struck.append(1)

            start = time.perf_counter()
            passes = under_fire(run, X, y, strike, times, seed)
            report(run, make, X, y, passes, len(struck), time.perf_counter() - start)
    finally:
        machines.shutdown()


@main.command()
def namespaces() -> None:
    """Two nodes, each in a network of its own with an address of its own, and a cable between them."""
    commands = (
        "ip netns add ob-a; ip netns add ob-b; ip link add ob-va netns ob-a type veth peer name ob-vb netns ob-b;"
        "ip -n ob-a addr add 10.77.0.1/24 dev ob-va; ip -n ob-b addr add 10.77.0.2/24 dev ob-vb;"
        "for n in a b; do ip -n ob-$n link set lo up; ip -n ob-$n link set ob-v$n up; done"
    )
    subprocess.run(commands, shell=True, check=True)
    ray = str(Path(sys.executable).parent / "ray")
    common = "--num-cpus 2 --object-store-memory 100000000 --disable-usage-stats --block"
    own = {**os.environ, "RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": secrets.token_hex(32)}  # for this cluster alone
    started = []
    try:
        for name, options in (
            ("ob-a", "--head --node-ip-address 10.77.0.1 --port 6399 --include-dashboard false"),
            ("ob-b", "--address 10.77.0.1:6399 --node-ip-address 10.77.0.2"),
        ):
            command = f"exec ip netns exec {name} {ray} start {options} {common} --temp-dir /tmp/{name}"
            command = command if "--head" in options else command.replace(" --temp-dir /tmp/ob-b", "")
            quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "start_new_session": True}
            started.append(subprocess.Popen(command, shell=True, env=own, **quiet))
            time.sleep(12)
        inside = f"ip netns exec ob-a {sys.executable} {__file__} inside".split()
        subprocess.run(inside, check=True, timeout=240, env=own)
    finally:
        for process in reversed(started):
            os.killpg(process.pid, 15)
            process.wait(60)  # the first node waits 30 s for others that are gone
        subprocess.run("ip netns del ob-a; ip netns del ob-b", shell=True, check=False)


@main.command(hidden=True)
def inside() -> None:
    """What `namespaces` runs on the first node."""
    import ray

    X, y = rows_of("electricity", 6000)
    with Cluster(AdaBoostOLM(40), 2, rows=512, address="10.77.0.1:6399") as run:
        found = hash_of(fed(run, X, y, 2000).result())
        homes = sorted({node["NodeManagerAddress"] for node in ray.nodes() if node["Alive"]})
    same = found == hash_of(AdaBoostOLM(40).partial_fit(X, y))
    click.echo(f"nodes {', '.join(homes)}: the same as one process: {same}")
    sys.exit(not same)


if __name__ == "__main__":
    main()
