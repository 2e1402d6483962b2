"""Members of the panel by themselves and as weak learners: what their twins say, and what they say in the panel.

What is promised for all estimators is tested for them too, in `contract`.
"""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from sklearn.base import clone

import reference
import reference_members as twins
from contract.kinds import shortened
from helpers import by_code, in_blocks, mixed_stream, model_state, plain
from onlineboost import (
    AdaBoostOLM,
    BestTree,
    EagerTrees,
    LeastSquares,
    NearestNeighbours,
    OneVsAll,
    OnlineBoostClassifier,
    RefittedTrees,
    load,
)
from onlineboost._compile.random import child_key
from onlineboost.panel import state
from onlineboost.panel.combiner import LEAST
from onlineboost.panel.panel import ask_panel, new_panel_work
from onlineboost.panel.state import NAMES, most_bytes
from reference_panel import centred

SEED = 3
MEMBERS = {
    "eager trees": (EagerTrees(), twins.EagerTrees),
    "nearest neighbours": (NearestNeighbours(), twins.NearestNeighbours),
    "linear": (LeastSquares(cosines=False), twins.Linear),
    "cosines": (LeastSquares(), twins.Cosines),
    "refitted trees": (RefittedTrees(), twins.Refitted),
}
VOICES = {
    "trees": EagerTrees(),
    "nearest": NearestNeighbours(n_neighbours=1),
    "nearest 10": NearestNeighbours(n_neighbours=10),
    "linear": LeastSquares(cosines=False),
    "cosines": LeastSquares(),
}
BOOSTERS = {
    "adaboost-olm": (AdaBoostOLM, {}),
    "with restarts": (AdaBoostOLM, {"restart": "always"}),
    "one-vs-all": (OneVsAll, {}),
    "behind a panel": (OnlineBoostClassifier, {}),
}


def compared(clf, twin, X, y, weight):
    """What a classifier says is what its twin says, row by row, with classes that turn up on the way."""
    said = in_blocks(clf, X, y, 40, weight)
    names = clf._model.labels.names
    want = reference.run(twin, reference.Past(3, 2), plain(X), [names.index(label) for label in y], weight)
    assert said == [None if code is None else names[code] for code in want]


@pytest.mark.parametrize("name", MEMBERS)
def test_a_member_is_its_twin(name):
    clf, twin = MEMBERS[name]
    clf = clone(clf).set_params(random_state=SEED)
    X, y, weight = mixed_stream(14 if name == "cosines" else 110, seed=5)  # whose equations are large
    X[0, 1], X[:2, 3] = -1e160, [0.3, 0.1 + 0.2]  # a glitch, and a difference that is no more than rounding
    twin = twin(3, 2, SEED)
    compared(clf, reference.PlainTree(twin, SEED), X, y, weight)
    p = [twin.distribution(x, len(clf.classes_)) for x in plain(X)[-5:]]
    np.testing.assert_allclose(by_code(clf, clf.predict_proba(X[-5:])), p, atol=1e-4)


def test_boosted_members_are_those_of_the_twin():
    X, y, weight = mixed_stream(110, seed=5)
    clf = AdaBoostOLM(3, learner=LeastSquares(cosines=False), restart="never", random_state=SEED)
    learners = [twins.Linear(3, 2, child_key(SEED, i)) for i in range(3)]
    scale = np.geomspace(1.0, 200.0, 3).tolist()
    twin = reference.AdaboostOLM(learners, "logistic", scale, SEED, "tempered")
    compared(clf, twin, X, y, weight)
    np.testing.assert_allclose(clf.alphas_, twin.alpha, atol=1e-6)
    np.testing.assert_allclose(clf.edges_, twin.edges, atol=1e-6)


def test_a_member_alone_is_its_voice_in_the_panel(monkeypatch):
    """As the voice learns and speaks by the first rules, which are a member's own: a softmax and a logarithm round."""
    monkeypatch.setattr(state, "RULES", 1)
    X, y, weight = mixed_stream(240, seed=1)
    flagship = OnlineBoostClassifier(1, random_state=SEED).partial_fit(X, y, sample_weight=weight)
    model = flagship._model
    panel, k = model.chain.panel.state, model.k
    rows = model.chain.new_rows(model.encoder.read(X[:40], learning=False).X, k, None, None).X
    work, voices = new_panel_work(panel, k), []
    for row in rows:
        ask_panel(panel, row[None], k, work, np.zeros((1, k)))
        voices.append(work.newton.logits.copy())
    for voice, member in VOICES.items():
        member = clone(member).set_params(random_state=SEED)
        p = member.partial_fit(X, y, sample_weight=weight).predict_proba(X[:40])
        for own, said in zip(p, np.array(voices)[:, NAMES.index(voice)], strict=True):
            least = 0.0 if voice in ("linear", "cosines") else LEAST
            np.testing.assert_allclose(centred(np.log(own + least)), said, atol=1e-12, err_msg=repr(member))


@pytest.mark.parametrize("name", BOOSTERS)
def test_boosted_members_are_the_same_in_any_blocks_threads_and_copies(name, tmp_path):
    make, settings = BOOSTERS[name]
    X, y, weight = mixed_stream(240, seed=4)

    def made(**more):
        return make(4, learner=LeastSquares(cosines=False), **settings, **more)

    with shortened():
        one = made()
        want = in_blocks(one, X, y, len(y), weight)
        clf = made(n_jobs=2)
        said = in_blocks(clf, X[:130], y[:130], 37, weight[:130])
        clf.save(tmp_path / "model.olb")
        for copy in (clf, load(tmp_path / "model.olb"), pickle.loads(pickle.dumps(clf)), clf.snapshot()):
            assert said + in_blocks(copy, X[130:], y[130:], 50, weight[130:]) == want
            assert model_state(copy) == model_state(one)
        if name == "with restarts":
            assert any(event.kind == "restart" for event in one.events_)
    assert np.mean([a == b for a, b in zip(want[100:], y[100:], strict=True)]) > 0.55
    assert one.feature_importances_.sum() == pytest.approx(1.0)


def test_memory_is_bounded_and_counted():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(9000, 3)), rng.integers(3, size=9000)
    for member in (EagerTrees(), NearestNeighbours()):
        member.partial_fit(X, y)
        (own,) = member._model.chain.segments[0].learners.members
        assert member.nbytes_by_part_["members"] <= most_bytes(own, 3)
        assert member.nbytes_ <= 25e6


def test_bad_settings_are_named():
    X, y = [[0.0], [1.0]] * 5, [0, 1] * 5
    for bad in (0, 65, 1.5, "four", True):
        with pytest.raises(ValueError, match="n_neighbours must be") as error:
            NearestNeighbours(n_neighbours=bad).fit(X, y)
        assert repr(bad) in str(error.value)
    with pytest.raises(ValueError, match="cosines must be True or False, got 'yes'"):
        LeastSquares(cosines="yes").fit(X, y)
    for setting in ({"class_weight": "balanced"}, {"cost_matrix": {0: {1: 2.0}}}, {"calibrate": True}, {"sets": True}):
        with pytest.raises(ValueError, match="of a weak learner has no effect"):
            AdaBoostOLM(2, learner=EagerTrees(**setting)).fit(X, y)
    with pytest.raises(ValueError, match="learner of BestTree must be a HoeffdingTree"):
        BestTree(2, learner=EagerTrees()).fit(X, y)
