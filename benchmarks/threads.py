"""What a second thread brings: one core against `--jobs`, on the same streams, in one run, and whether all is the same.

    python benchmarks/threads.py
    python benchmarks/threads.py --streams isolet --jobs 4 --rows 5000

"speed-up" is wall time, the best of the repeats of each; it means something on idle cores only. The other columns help
to judge a busy machine. "all in kernels" is the share of the time in which all threads were inside a segment's kernel
at once, "none" the share in which no thread was: encoding, Hedge, and the Python in between. "CPU" is the processor
time of all threads over that of one: more than 1 is what cutting the chain costs. "expected" is the speed-up that the
measured times of all (segment, block) tasks would give with a core for every thread and nobody else at work.
"""

from __future__ import annotations

import heapq
import json
import threading
import time
from collections import defaultdict
from pathlib import Path
from typing import Any

import click
import numpy as np
from rich.console import Console
from rich.table import Table

from onlineboost import AdaBoostOLM, OnlineMBBM, chain, load_dataset, prequential
from onlineboost.stream import DataError

MODELS = {"AdaBoostOLM": AdaBoostOLM, "OnlineMBBM": OnlineMBBM}


class Watch:
    """Write down when every thread is inside a segment, wall and processor time."""

    def __enter__(self) -> Watch:
        self.spans: list[tuple[float, float, float, int]] = []  # begin, end, CPU seconds, thread
        self.learn = learn = chain.TreeSegment.learn

        def watched(segment: Any, *block: Any) -> None:
            begin, cpu = time.perf_counter(), time.thread_time()
            learn(segment, *block)
            self.spans.append((begin, time.perf_counter(), time.thread_time() - cpu, threading.get_ident()))

        chain.TreeSegment.learn = watched  # type: ignore[method-assign]
        return self

    def __exit__(self, *_: object) -> None:
        chain.TreeSegment.learn = self.learn  # type: ignore[method-assign]

    def shares(self, jobs: int, seconds: float) -> tuple[float, float]:
        """Shares of the time with all threads in kernels, and with none."""
        moments = sorted([(begin, 1) for begin, *_ in self.spans] + [(end, -1) for _, end, *_ in self.spans])
        lengths: dict[int, float] = defaultdict(float)
        active = 0
        for (at, change), (following, _) in zip(moments, [*moments[1:], (moments[-1][0], 0)], strict=True):
            active += change
            lengths[active] += following - at
        return lengths[jobs] / seconds, 1.0 - sum(lengths[n] for n in lengths if n > 0) / seconds

    def cpu(self) -> float:
        return sum(span[2] for span in self.spans)


def schedule(cost: np.ndarray, jobs: int) -> float:
    """Seconds that tasks of this cost, (blocks, segments), take on `jobs` cores, by the rule of pipeline.py."""
    n_blocks, n_steps = cost.shape
    done, busy, now, running = [0] * n_steps, [False] * n_steps, 0.0, []
    while done[-1] < n_blocks:
        for _ in range(jobs - len(running)):
            ready = [j for j in range(n_steps) if not busy[j] and done[j] < (done[j - 1] if j else n_blocks)]
            if ready:
                j = ready[-1]
                busy[j] = True
                heapq.heappush(running, (now + cost[done[j], j], j))
        now, j = heapq.heappop(running)
        busy[j] = False
        done[j] += 1
    return now


def run(make: Any, data: Any, learners: int, jobs: int) -> tuple[dict[str, float], tuple]:
    clf = make(learners, n_jobs=jobs)
    with Watch() as watch:
        cpu = time.process_time()
        result = prequential(clf, data.X, data.y, classes=data.classes)
        cpu = time.process_time() - cpu
    most, none = watch.shares(jobs, result.seconds)
    figures = {"seconds": result.seconds, "cpu": cpu, "in_kernels_cpu": watch.cpu(), "all": most, "none": none}
    state = (result.predictions, clf.edges_, clf.expert_weights_, clf._model.chain.gather("alpha"))
    return figures, state


@click.command()
@click.option("--streams", default="isolet,movement", show_default=True)
@click.option("--models", default=",".join(MODELS), show_default=True)
@click.option("--learners", default=100, show_default=True)
@click.option("--jobs", default=2, show_default=True)
@click.option("--rows", type=int, help="First so many rows of each stream [default: all].")
@click.option("--repeats", default=3, show_default=True)
@click.option("--json", "json_path", type=click.Path(path_type=Path), help="Write the figures to this file.")
def main(
    streams: str, models: str, learners: int, jobs: int, rows: int | None, repeats: int, json_path: Path | None
) -> None:
    """Time learning on one thread and on several, interleaved."""
    console = Console(width=max(120, Console().width))
    table = Table("stream", "model", "examples", "1 thread", f"{jobs} threads", "speed-up", "CPU", "all in kernels",
                  "none", "expected", "same result", title=f"{learners} learners, best of {repeats}")  # fmt: skip
    out = []
    for name in streams.split(","):
        try:
            data = load_dataset(name)
        except DataError as error:
            console.print(f"[yellow]{name} left out:[/] {error}", highlight=False)
            continue
        data = data.shuffled(0) if data.order == "shuffle" else data
        data = type(data)(data.name, data.X[:rows], data.y[:rows], data.classes, data.order, data.note)
        for model in models.split(","):
            make = MODELS[model]
            run(make, type(data)(name, data.X[:200], data.y[:200], data.classes, data.order, data.note), 4, jobs)
            runs: dict[int, list[dict[str, float]]] = {1: [], jobs: []}
            states = []
            for repeat in range(repeats):
                for n in runs:
                    with console.status(f"{name}, {model}: {n} thread(s), {repeat + 1} of {repeats} ..."):
                        figures, state = run(make, data, learners, n)
                    runs[n].append(figures)
                    states.append(state)
            same = all(
                np.array_equal(a, b) for state in states for a, b in zip(state, states[0], strict=True)
            )
            one, more = (min(runs[n], key=lambda r: r["seconds"]) for n in runs)
            cpu = min(r["cpu"] for r in runs[jobs]) / min(r["cpu"] for r in runs[1])
            figures = {
                "stream": name, "model": model, "examples": len(data), "learners": learners, "jobs": jobs,
                "seconds_one": one["seconds"], "seconds_more": more["seconds"],
                "speed_up": one["seconds"] / more["seconds"], "cpu_ratio": cpu,
                "all_in_kernels": max(r["all"] for r in runs[jobs]), "none_in_kernels": min(r["none"] for r in runs[jobs]),
                "same": same, "runs": runs,
            }  # fmt: skip
            out.append(figures)
            table.add_row(name, model, f"{len(data):,}", f"{one['seconds']:.2f} s", f"{more['seconds']:.2f} s",
                          f"{figures['speed_up']:.2f}", f"{cpu:.2f}", f"{figures['all_in_kernels']:.1%}",
                          f"{figures['none_in_kernels']:.1%}", "", "yes" if same else "[red]NO")  # fmt: skip
    console.print(table)
    if json_path:
        json_path.write_text(json.dumps(out, indent=2))


if __name__ == "__main__":
    main()
