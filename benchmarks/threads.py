"""What more threads bring: one thread against `--jobs`, on the same streams, in one run, and whether all is the same.

    python benchmarks/threads.py
    python benchmarks/threads.py --streams isolet --jobs 4 --rows 5000
    python benchmarks/threads.py --patience 60        # on a shared machine: wait for idle cores before every run

"speed-up" is wall time, the best of the repeats of each; it means something on idle cores only ("others" is the share
of the machine that other processes took in the meantime). The rest helps to judge a busy machine. "all in kernels" is
the share of the time in which all threads were inside a segment's kernel at once, "none" the share in which no thread
was: encoding, Hedge, and the Python in between. "CPU" is the processor time of all threads over that of one: what
cutting the chain costs. "expected" is the speed-up with a core for every thread and nobody else at work: the processor
time of every (segment, block) task, put in order by the rule of `chain.threads`; the main thread's own time is serial,
and what else the threads did (Hedge, Python) is split among them.
"""

from __future__ import annotations

import heapq
import json
import time
from collections import defaultdict
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import click
import numpy as np
from rich.console import Console
from rich.table import Table

from onlineboost import AdaBoostOLM, OnlineBoostClassifier, OnlineMBBM, load_dataset, prequential
from onlineboost.chain.chain import Chain
from onlineboost.chain.reviews import Reviews
from onlineboost.chain.segments import PanelStage, Segment
from onlineboost.data.errors import DataError
from onlineboost.datasets.dataset import Dataset

MODELS = {
    "AdaBoostOLM": AdaBoostOLM,
    "AdaBoostOLM without restarts": partial(AdaBoostOLM, restart="never"),
    "OnlineMBBM": OnlineMBBM,
    "OnlineBoostClassifier": OnlineBoostClassifier,
}


class Watch:
    """Write down when threads are inside a segment, and the processor time of every task."""

    def __enter__(self) -> Watch:
        self.spans: list[tuple[float, float]] = []
        self.tasks: list[dict[tuple[int, int], float]] = []  # one per call: (round, learner) of a task -> CPU seconds
        self.reviews: dict[int, int] = {}  # rounds after which the chain was reviewed, and when that was done
        self.learn, self.stream, self.hold = _, stream, hold = Segment.learn, Chain.stream, Reviews.hold
        self.panel = PanelStage.learn

        def watched(learn: Any, place: Callable[[Any], int]) -> Any:
            def watched_learn(stage: Any, rows: Any, *labels: Any) -> None:
                begin, cpu = time.perf_counter(), time.thread_time()
                learn(stage, rows, *labels)
                if not len(rows.X):  # a rehearsal
                    return
                self.tasks[-1][rows.t, place(stage)] = time.thread_time() - cpu
                self.spans.append((begin, time.perf_counter()))

            return watched_learn

        def watched_stream(*arguments: Any) -> int:
            self.tasks.append({})
            return stream(*arguments)

        def watched_hold(reviews: Any, census: Any) -> None:
            at = reviews._decided(census.t)
            hold(reviews, census)
            self.reviews[census.t] = at

        Chain.stream, Reviews.hold = watched_stream, watched_hold  # type: ignore[method-assign, assignment]
        Segment.learn = watched(self.learn, lambda segment: segment.booster.offset)  # type: ignore[method-assign]
        PanelStage.learn = watched(self.panel, lambda panel: -1)  # type: ignore[method-assign]
        return self

    def __exit__(self, *_: object) -> None:
        Segment.learn, Chain.stream, Reviews.hold = self.learn, self.stream, self.hold  # type: ignore[method-assign]
        PanelStage.learn = self.panel  # type: ignore[method-assign]

    def shares(self, jobs: int, seconds: float) -> tuple[float, float]:
        """Shares of the time with all threads in kernels, and with none."""
        moments = sorted([(begin, 1) for begin, _ in self.spans] + [(end, -1) for _, end in self.spans])
        lengths: dict[int, float] = defaultdict(float)
        active = 0
        for (at, change), (following, _) in zip(moments, [*moments[1:], (moments[-1][0], 0)], strict=True):
            active += change
            lengths[active] += following - at
        return lengths[jobs] / seconds, 1.0 - sum(lengths[n] for n in lengths if n > 0) / seconds

    def cpu(self) -> float:
        return sum(sum(call.values()) for call in self.tasks)

    def expected(self, jobs: int) -> float:
        """Seconds in kernels if every thread had a core to itself."""
        total = 0.0
        for call in self.tasks:
            rounds, learners = sorted({t for t, _ in call}), sorted({i for _, i in call})
            decided = [t for t in self.reviews if t >= rounds[0]]
            awaited = [max((t for t in decided if self.reviews[t] < first), default=0) for first in rounds]
            left = np.searchsorted(rounds, awaited, side="right")  # blocks that must have left before each enters
            total += schedule(np.array([[call[t, i] for i in learners] for t in rounds]), jobs, left)
        return total


def schedule(cost: np.ndarray, jobs: int, left: np.ndarray | None = None) -> float:
    """Seconds that tasks of this cost, (blocks, segments), take on so many cores, by the rule of `chain.threads`.

    Block b enters once the first left[b] blocks have left.
    """
    n_blocks, n_steps = cost.shape
    left = np.zeros(n_blocks, int) if left is None else left
    done, busy, now = [0] * n_steps, [False] * n_steps, 0.0
    running: list[tuple[float, int]] = []
    while done[-1] < n_blocks:
        for _ in range(jobs - len(running)):
            ready = [j for j in range(1, n_steps) if not busy[j] and done[j] < done[j - 1]]
            if not busy[0] and done[0] < n_blocks and left[done[0]] <= done[-1]:
                ready.insert(0, 0)
            if ready:
                busy[ready[-1]] = True
                heapq.heappush(running, (now + cost[done[ready[-1]], ready[-1]], ready[-1]))
        now, j = heapq.heappop(running)
        busy[j] = False
        done[j] += 1
    return now


def machine_busy() -> tuple[float, float]:
    """Seconds that all cores together have worked, and all there were (Linux; elsewhere zeros)."""
    try:
        ticks = [int(value) for value in Path("/proc/stat").read_text().split("\n")[0].split()[1:9]]
    except OSError:
        return 0.0, 1e-9
    return (sum(ticks) - ticks[3] - ticks[4]) / 100.0, sum(ticks) / 100.0


def wait_for_idle(patience: float) -> None:
    until = time.perf_counter() + patience
    while time.perf_counter() < until:
        busy, total = machine_busy()
        time.sleep(0.3)
        after, total_after = machine_busy()
        if after - busy <= 0.1 * (total_after - total):
            return


def run(make: Any, data: Dataset, learners: int, jobs: int) -> tuple[dict[str, float], tuple]:
    clf = make(learners, n_jobs=jobs)
    with Watch() as watch:
        machine, machine_total = machine_busy()
        cpu, main = time.process_time(), time.thread_time()
        result = prequential(clf, data.X, data.y, classes=data.classes)
        cpu, main = time.process_time() - cpu, time.thread_time() - main
        machine_after, machine_total_after = machine_busy()
    most, none = watch.shares(jobs, result.seconds)
    figures = {
        "seconds": result.seconds,
        "cpu": cpu,
        "others": max(0.0, machine_after - machine - cpu) / max(machine_total_after - machine_total, 1e-9),
        "all_in_kernels": most,
        "none_in_kernels": none,
        "expected_seconds": watch.expected(jobs) + main + max(0.0, cpu - watch.cpu() - main) / jobs
        if jobs > 1
        else cpu,
    }
    chain = clf._model.chain
    learned = (chain.gather(name) for name in chain.segments[0].booster.per_learner())
    return figures, (result.predictions, clf.edges_, getattr(clf, "expert_weights_", 0.0), *learned)


def part(data: Dataset, n: int | None) -> Dataset:
    return Dataset(data.name, data.X[:n], data.y[:n], data.classes, data.order, data.note)


@click.command()
@click.option("--streams", default="isolet,movement", show_default=True)
@click.option("--models", default=",".join(MODELS), show_default=True)
@click.option("--learners", default=100, show_default=True)
@click.option("--jobs", default=2, show_default=True)
@click.option("--rows", type=int, help="First so many rows of each stream [default: all].")
@click.option("--repeats", default=3, show_default=True)
@click.option("--patience", default=0.0, help="Wait up to so many seconds for idle cores before every run.")
@click.option("--json", "json_path", type=click.Path(path_type=Path), help="Write the figures to this file.")
def main(
    streams: str,
    models: str,
    learners: int,
    jobs: int,
    rows: int | None,
    repeats: int,
    patience: float,
    json_path: Path | None,
) -> None:
    """Time learning on one thread and on several, interleaved."""
    console = Console(width=max(130, Console().width))
    headings = ["stream", "model", "examples", "1 thread", f"{jobs} threads", "speed-up", "others", "CPU"]
    headings += ["all in kernels", "none", "expected", "same"]
    table = Table(*headings, title=f"{learners} learners, best of {repeats}")
    out = []
    for name in streams.split(","):
        try:
            data = load_dataset(name)
        except DataError as error:
            console.print(f"[yellow]{name} left out:[/] {error}", highlight=False)
            continue
        data = part(data.shuffled(0) if data.order == "shuffle" else data, rows)
        for model in models.split(","):
            make = MODELS[model]
            run(make, part(data, 200), 4, jobs)  # compile
            runs: dict[int, list[dict[str, float]]] = {1: [], jobs: []}
            states = []
            for repeat in range(repeats):
                for n in runs:
                    with console.status(f"{name}, {model}: {n} thread(s), {repeat + 1} of {repeats} ..."):
                        wait_for_idle(patience)
                        figures, state = run(make, data, learners, n)
                    runs[n].append(figures)
                    states.append(state)
            same = all(np.array_equal(a, b) for state in states for a, b in zip(state, states[0], strict=True))
            one, more = (min(runs[n], key=lambda r: r["seconds"]) for n in runs)
            least = {n: min(r["cpu"] for r in runs[n]) for n in runs}
            summary = {
                "stream": name,
                "model": model,
                "examples": len(data),
                "learners": learners,
                "jobs": jobs,
                "speed_up": one["seconds"] / more["seconds"],
                "cpu_ratio": least[jobs] / least[1],
                "expected": least[1] / min(r["expected_seconds"] for r in runs[jobs]),
                "same": same,
                "runs": runs,
            }
            out.append(summary)
            cells = [name, model, f"{len(data):,}", f"{one['seconds']:.2f} s", f"{more['seconds']:.2f} s"]
            cells += [f"{summary['speed_up']:.2f}", f"{max(one['others'], more['others']):.0%}"]
            cells += [f"{summary['cpu_ratio']:.2f}", f"{more['all_in_kernels']:.1%}", f"{more['none_in_kernels']:.1%}"]
            table.add_row(*cells, f"{summary['expected']:.2f}", "yes" if same else "[red]NO")
    console.print(table)
    if json_path:
        json_path.write_text(json.dumps(out, indent=2))


if __name__ == "__main__":
    main()
