"""onlineboost potential: the paper's figure."""

from __future__ import annotations

from pathlib import Path

import click

from onlineboost.cli.common import check_writable, number, visible


@click.command()
@click.option("--learners", default=20, show_default=True, type=click.IntRange(1), help="N, the number of votes.")
@click.option("--gamma", "gammas", default="0.01,0.1", show_default=True, help="Edges, comma-separated: a panel each.")
@click.option("--most-classes", default=100, show_default=True, type=click.IntRange(3), help="Draw k from 2 to this.")
@click.option("--out", default="potential", show_default=True, help="Write OUT.png and OUT.html.")
def potential(learners: int, gammas: str, most_classes: int, out: str) -> None:
    """Draw phi_N(0), the error rate of OnlineMBBM, against the number of classes: the paper's figure."""
    check_writable(Path(f"{out}.png"), "--out")
    from onlineboost.report.pictures import draw_potentials

    edges = [number(text, "--gamma") for text in gammas.split(",")]
    for path in draw_potentials(learners, edges, most_classes, out):
        click.echo(f"wrote {visible(str(path))}")
