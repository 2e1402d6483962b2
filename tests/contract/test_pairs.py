"""The kinds that the contract is tested with are as many as they have to be: no word and no two words are left out."""

from __future__ import annotations

from contract.kinds import APART, MAKERS, every_estimator, every_kind, every_two_words, words_of
from contract.pairs import pairs_of, two_at_a_time
from onlineboost import lookup


def met(kinds):
    """The pairs of settings that occur in these kinds, the estimator among them."""
    for kind in kinds:
        name, made = kind.name.partition(" ")[0], kind.make().get_params(deep=False)
        words = words_of(name)
        yield from pairs_of({"maker": [name], **{own: [made[own]] for own in words if made[own] in words[own]}})


def wanted(name):
    pairs = pairs_of({"maker": [name], **words_of(name)})
    return {pair for pair in pairs if dict(pair).keys() not in APART}


def test_every_estimator_is_there_with_its_defaults_and_with_every_word():
    assert [kind.name for kind in every_estimator()] == list(lookup.names())
    assert len({kind.name for kind in every_kind()}) == len(every_kind())
    single = {pair for name in MAKERS for pair in wanted(name) if "maker" in dict(pair)}
    assert len(single) > 60
    assert single <= set(met(every_kind()))


def test_every_two_words_meet_in_one_estimator_and_for_soaking_in_each():
    assert {pair for name in MAKERS for pair in wanted(name)} <= set(met(every_kind()))
    for name in MAKERS:
        own = [kind for kind in every_two_words() if kind.name.partition(" ")[0] == name]
        assert wanted(name) <= set(met(own))


def test_pairs_are_covered_with_few_combinations():
    """Of 3 x 3 x 3 x 3 x 3 words: 243 combinations, of which 9 would do at best."""
    words = {name: "xyz" for name in "abcde"}
    found = [settings for _, settings in two_at_a_time({"one": words})]
    assert 9 <= len(found) <= 24
    assert {pair for settings in found for pair in pairs_of({a: [b] for a, b in settings.items()})} == set(
        pairs_of(words)
    )
    apart = [settings for _, settings in two_at_a_time({"one": words}, [{"a", "b"}])]
    assert not any({"a", "b"} <= settings.keys() for settings in apart)
