"""Draws packages.svg and packages.png, the picture of docs/how-it-works.md: python docs/pictures/packages.py

The order of the packages is that of the import contract in pyproject.toml.
"""

from __future__ import annotations

import tomllib
from html import escape
from io import BytesIO
from pathlib import Path

import vl_convert
from PIL import Image

HERE = Path(__file__).parent
WIDTH, HEIGHT = 940, 1074
FONT = "DejaVu Sans, Verdana, Arial, sans-serif"
INK, GREY, BLUE, ORANGE = "#1f2328", "#57606a", "#0969da", "#bc4c00"
PUBLIC_FILL, PRIVATE_FILL, LATER_FILL = "#ddf4ff", "#f3f4f6", "#fff1e5"

ABOUT = {  # package: (public, what it does)
    "cli": (False, "the command line"),
    "service": (False, "the live service: HTTP, a log on disk, a page"),
    "report": (True, "charts, and pages in HTML"),
    "theory": (True, "bounds, edges, and how many learners and examples to plan for"),
    "cluster": (True, "the chain spread over machines"),
    "evaluation": (True, "test, then train"),
    "datasets": (True, "streams to learn from"),
    "estimators": (True, "the classifiers and their settings"),
    "explain": (False, "importances, explanations"),
    "files": (False, "models to files, and back"),
    "chain": (False, "the stages of a model; experts, restarts, threads"),
    "boosters": (False, "costs, votes and weights"),
    "panel": (False, "unlike learners"),
    "trees": (False, "Hoeffding trees"),
    "contracts": (True, "what a booster and a weak learner promise each other"),
    "data": (True, "files, frames and single rows to numbers"),
    "storage": (True, "the bytes of model files, and what is wrong with them"),
    "_compile": (False, "compiles kernels, keeps them, chooses them by type"),
}


def text(x: float, y: float, words: str, size: int = 16, colour: str = INK, **style: str) -> str:
    more = "".join(f' {key.replace("_", "-")}="{value}"' for key, value in style.items())
    return f'<text x="{x}" y="{y}" font-size="{size}" fill="{colour}"{more}>{escape(words)}</text>'


def box(x: float, y: float, w: float, h: float, fill: str, stroke: str = GREY, **style: str) -> str:
    more = "".join(f' {key.replace("_", "-")}="{value}"' for key, value in style.items())
    return f'<rect x="{x}" y="{y}" width="{w}" height="{h}" rx="8" fill="{fill}" stroke="{stroke}"{more}/>'


def arrow(path: str, colour: str) -> str:
    name = "blue" if colour == BLUE else "orange"
    return f'<path d="{path}" fill="none" stroke="{colour}" stroke-width="2.5" marker-end="url(#{name})"/>'


def station(x: float, y: float, w: float, h: float, package: str, lines: list[str], fill: str = "#ffffff") -> list[str]:
    """A box with a package's name and what it does there."""
    out = [box(x, y, w, h, fill), text(x + 12, y + 25, package, 17, INK, font_weight="bold")]
    return out + [text(x + 12, y + 48 + 21 * i, line, 15) for i, line in enumerate(lines)]


def path_of_an_example() -> list[str]:
    """The upper half: blue is the path to a prediction, orange what happens once the label is known."""
    return [
        text(20, 34, "The path of an example", 21, font_weight="bold"),
        box(20, 52, 900, 398, "none", BLUE, stroke_dasharray="6 5"),
        text(36, 80, "estimators", 17, font_weight="bold"),
        text(150, 80, "the classifier that you call: OnlineBoostClassifier (the others have no panel)", 15, GREY),
        *station(36, 98, 142, 92, "data", ["turns the row", "into numbers"]),
        *station(
            36,
            226,
            142,
            172,
            "panel",
            ["Voices of other", "kinds: the votes", "start here. They", "learn the label,", "too."],
        ),
        box(222, 98, 452, 336, PRIVATE_FILL),
        text(236, 124, "chain", 17, font_weight="bold"),
        text(300, 124, "for learner i = 1, 2, ..., N", 15, GREY),
        *station(236, 150, 190, 116, "trees", ["Learner i: how likely", "is each label?"]),
        *station(470, 150, 190, 116, "boosters", ["Which label gets its", "vote? Add it to the", "votes so far."]),
        *station(470, 306, 190, 112, "boosters", ["How much does the", "example matter to", "learner i?"], LATER_FILL),
        *station(236, 306, 190, 112, "trees", ["Learner i learns the", "example, with that", "weight."], LATER_FILL),
        *station(712, 150, 192, 116, "chain", ["What mixture of panel", "and trees? (No panel:", "which expert?)"]),
        box(712, 306, 88, 44, "#ffffff", BLUE, stroke_width="2.5"),
        text(756, 334, "answer", 16, BLUE, text_anchor="middle", font_weight="bold"),
        box(816, 306, 88, 44, "#ffffff", ORANGE, stroke_width="2.5"),
        text(860, 334, "label", 16, ORANGE, text_anchor="middle", font_weight="bold"),
        arrow("M107 190 V220", BLUE),
        arrow("M178 262 H200 V208 H230", BLUE),
        arrow("M426 208 H464", BLUE),
        arrow("M660 208 H706", BLUE),
        arrow("M756 266 V300", BLUE),
        arrow("M860 306 V272", ORANGE),
        arrow("M860 350 V384 H666", ORANGE),
        arrow("M470 362 H432", ORANGE),
        text(690, 412, "blue: predicting", 15, BLUE),
        text(690, 434, "orange: then learning", 15, ORANGE),
    ]


def stack_of_packages(layers: list[list[str]]) -> list[str]:
    """The lower half: one row for each layer of the import contract."""
    out = [
        text(20, 496, "The packages", 21, font_weight="bold"),
        text(190, 496, "each may import those below it, never those above or beside it", 15, GREY),
    ]
    for at, layer in enumerate(layers):
        y, w = 510 + 38 * at, (900 - 12 * (len(layer) - 1)) / len(layer)
        for place, package in enumerate(layer):
            x = 20 + place * (w + 12)
            public, about = ABOUT[package]
            out.append(box(x, y, w, 32, PUBLIC_FILL if public else PRIVATE_FILL, BLUE if public else "#d0d7de"))
            out.append(text(x + 12, y + 22, package, 16, font_weight="bold"))
            out.append(text(x + (132 if w > 300 else 96), y + 22, about, 15))
    y = 510 + 38 * len(layers)
    out += [box(20, y + 5, 18, 14, PUBLIC_FILL, BLUE), text(46, y + 18, "public", 14, GREY)]
    out += [
        box(110, y + 5, 18, 14, PRIVATE_FILL, "#d0d7de"),
        text(136, y + 18, "private: may change at any time", 14, GREY),
    ]
    return out


def main() -> None:
    config = tomllib.loads((HERE.parents[1] / "pyproject.toml").read_text())
    layers = [layer.split(" | ") for layer in config["tool"]["importlinter"]["contracts"][0]["layers"]]
    layers = [[name for name in layer if name in ABOUT] for layer in layers]  # without single modules
    heads = "".join(
        f'<marker id="{name}" viewBox="0 0 10 10" refX="6" refY="5" markerWidth="5" markerHeight="5" orient="auto">'
        f'<path d="M0 0 L10 5 L0 10 z" fill="{colour}"/></marker>'
        for name, colour in (("blue", BLUE), ("orange", ORANGE))
    )
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}" '
        f'font-family="{FONT}">',
        f"<defs>{heads}</defs>",
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#ffffff"/>',
        *path_of_an_example(),
        *stack_of_packages([layer for layer in layers if layer]),
        "</svg>",
    ]
    svg = "\n".join(parts) + "\n"
    (HERE / "packages.svg").write_text(svg)
    picture = Image.open(BytesIO(vl_convert.svg_to_png(svg, scale=2))).convert("RGB")
    picture.quantize(64).save(HERE / "packages.png", optimize=True)


if __name__ == "__main__":
    main()
