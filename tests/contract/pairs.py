"""Few combinations of settings in which every two words meet: what goes wrong is mostly due to one word or to two."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import combinations
from typing import Any

Words = Mapping[str, Sequence[Any]]  # those that a setting takes beside its default
Pairs = dict[frozenset[tuple[str, str]], None]  # a dict, because it keeps its order


def pairs_of(words: Words) -> Pairs:
    """Every two words of different settings."""
    both = combinations(words.items(), 2)
    return {frozenset([(a, str(x)), (b, str(y))]): None for (a, of_a), (b, of_b) in both for x in of_a for y in of_b}


def two_at_a_time(
    makers: Mapping[str, Words], apart: Collection[set[str]] = ()
) -> Iterator[tuple[str, dict[str, Any]]]:
    """(maker, its settings), so that each word of a maker occurs with it, and every two words with one of the makers.

    Greedy, and the same every time: the first pair that is left, by the maker with the fewest turns so far, and beside
    it the words that bring most other pairs. A setting that brings none keeps its default; of two that are `apart`, one
    at least does.
    """
    able = {maker: pairs_of({"maker": [maker], **words}) for maker, words in makers.items()}
    todo: Pairs = {pair: None for pairs in able.values() for pair in pairs if dict(pair).keys() not in apart}
    turns = dict.fromkeys(makers, 0)

    def gain(words: Words) -> int:
        return len(todo.keys() & pairs_of(words).keys())

    while todo:
        first = next(iter(todo))
        maker = min((maker for maker in makers if first in able[maker]), key=lambda maker: turns[maker])
        turns[maker] += 1
        chosen: dict[str, Sequence[Any]] = {"maker": [maker]}
        chosen |= {name: [word] for name in makers[maker] for word in makers[maker][name] if (name, str(word)) in first}
        for name, words in makers[maker].items():
            if name in chosen or any({name, other} in apart for other in chosen):
                continue
            best = max(words, key=lambda word, name=name: gain({**chosen, name: [word]}))
            if gain({**chosen, name: [best]}) > gain(chosen):
                chosen[name] = [best]
        for pair in pairs_of(chosen):
            todo.pop(pair, None)
        yield maker, {name: chosen[name][0] for name in makers[maker] if name in chosen}
