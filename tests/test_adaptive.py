"""gamma="adaptive": the identity and the theorem of theory/PROOFS.md, and the rule against its twin."""

import numpy as np
import pytest

from helpers import in_blocks, mixed_stream, number_stream
from onlineboost import OnlineMBBM, load
from onlineboost.boosters import adaptive
from onlineboost.boosters.mbbm import ledger
from onlineboost.boosters.potentials import build_tables, weight_bounds
from onlineboost.theory import guarantee
from onlineboost.theory.simulate import Simulation, draw_labels, draw_votes
from reference_adaptive import Game

EDGES = np.array([0.6, 0.3, 0.1, 0.02, 0.0])


def votes_of(kind, y, k, n, seed=0):
    """Votes of learners that are good, bad, good and then bad, or wrong whatever comes."""
    rng = np.random.default_rng(seed)
    if kind == "wrong":
        return np.repeat((y + 1)[:, None] % k, n, axis=1)
    edges = rng.choice(EDGES, n) if kind == "mixed" else np.full(n, 0.4)
    votes = draw_votes(y, k, n, edges, seed=seed)
    if kind == "turning":  # the good become the worst there are
        votes[len(y) // 2 :] = (y[len(y) // 2 :, None] + 1) % k
    return votes


@pytest.fixture
def quick(monkeypatch):
    """Gammas that move within some hundred rounds."""
    monkeypatch.setattr(adaptive, "LIMITS", 0.2 / adaptive.LADDER)
    monkeypatch.setattr(adaptive, "LEVELS", np.append(0.0, np.cumsum(adaptive.LIMITS)))


@pytest.mark.parametrize("kind", ["mixed", "turning", "wrong"])
@pytest.mark.parametrize(("k", "n"), [(2, 6), (3, 4)])
def test_a_run_is_that_of_the_twin(kind, k, n, quick):
    y = draw_labels(400, k, seed=1)
    votes = votes_of(kind, y, k, n, seed=2)
    booster, twin = Simulation("online-mbbm", k, n, gamma="adaptive"), Game(k, n, adaptive.first_steps(n).tolist(), 0.2)
    met = set()
    for at in range(0, len(y), 50):
        booster.play(votes[at : at + 50], y[at : at + 50])
        for label, row in zip(y[at : at + 50].tolist(), votes[at : at + 50].tolist(), strict=True):
            twin.round(label, row)
        assert booster.state.tables.gamma[::-1].tolist() == [twin.gammas[j] for j in twin.step]
        np.testing.assert_allclose(booster.state.account(), np.add(twin.account, twin.excess), atol=1e-10)
        assert abs(twin.identity() - twin.lost) < 1e-9
        met |= set(twin.step)
    assert len(met) > 2  # they have moved


def play(k, n, T, kind, seed):
    """A game in pieces; what was lost, and the ledger, after each."""
    booster, lost = Simulation("online-mbbm", k, n, gamma="adaptive"), 0.0
    y = draw_labels(T, k, seed=seed)
    votes = votes_of(kind, y, k, n, seed)
    for at in range(0, T, 500):
        lost += booster.play(votes[at : at + 500], y[at : at + 500]).lost.sum()
        yield booster, lost, ledger([booster.state])


@pytest.mark.parametrize("kind", ["mixed", "even", "turning", "wrong"])
@pytest.mark.parametrize(("k", "n"), [(2, 5), (2, 60), (3, 30), (5, 20)])
def test_the_identity_holds_and_the_bound_is_not_exceeded(kind, k, n, quick):
    for booster, lost, found in play(k, n, 3000, kind, seed=n):
        assert abs(found.promised + found.excess - lost) < 1e-9 * max(lost, 1.0)
        assert lost <= found.bound + 1e-9
        assert (booster.state.account() <= booster.state.account_bounds() + 1e-9).all()


def test_learners_of_an_edge_keep_a_gamma_near_it():
    """By the theorem no gamma falls below the edge over RATIO, or where it began, if S is that of such votes."""
    first = adaptive.LADDER[adaptive.first_steps(20)]
    for booster, _, _ in play(2, 20, 8000, "even", seed=3):
        gammas = booster.state.tables.gamma[::-1]
        assert (gammas >= np.minimum(first, 0.4 / adaptive.RATIO)).all()
    assert (gammas > first).mean() > 0.5  # most have risen
    for booster, _, _ in play(2, 20, 8000, "wrong", seed=3):
        gammas = booster.state.tables.gamma[::-1]
        assert (gammas <= first).all()
    assert (gammas[:4] == adaptive.LADDER[-1]).all()  # the others get no weight: all is lost before


def test_no_weight_is_above_its_bound():
    """w*_i is one for all gammas of the ladder at once."""
    rng = np.random.default_rng(0)
    for k, n in [(2, 30), (3, 20), (4, 12), (6, 10)]:
        bound = adaptive.largest_weights(k, np.arange(n)[::-1])
        for _ in range(20):
            gammas = rng.choice(adaptive.LADDER, n)
            assert (weight_bounds(k, n, gammas, exact=True) <= bound + 1e-12).all()
            assert (weight_bounds(k, n, gammas) <= bound + 1e-12).all()


def test_tables_of_other_gammas_are_those_made_afresh():
    rng = np.random.default_rng(0)
    for k, n in [(2, 30), (4, 20), (12, 60)]:
        tables = build_tables(k, n, rng.choice(adaptive.LADDER, n))
        for _ in range(3):
            gammas = np.where(rng.random(n) < 0.1, rng.choice(adaptive.LADDER, n), tables.gamma[::-1])
            afresh, tables = build_tables(k, n, gammas), build_tables(k, n, gammas, like=tables)
            assert tables.dense.phi.tobytes() == afresh.dense.phi.tobytes()
            assert (tables.key == afresh.key).all()


def state_of(clf):
    booster = clf._model.chain.joined().segments[0].booster
    return booster.sums.tobytes(), booster.steps.tobytes(), clf.gammas_.tobytes(), clf.edges_.tobytes()


def ledger_of(clf):
    return ledger([segment.booster for segment in clf._model.chain.segments])


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_blocks_and_threads_change_nothing(n_jobs, quick):
    X, y, _ = mixed_stream(900, seed=1)
    runs = []
    for block in (1, 7, 61, 1000):
        clf = OnlineMBBM(12, gamma="adaptive", random_state=2, n_jobs=n_jobs)
        runs.append((in_blocks(clf, X, y, block), *state_of(clf)))
    assert runs[0] == runs[1] == runs[2] == runs[3]
    assert len(np.unique(clf.gammas_)) > 2


def test_the_identity_holds_for_trees_and_late_classes(quick):
    """Classes that come one by one, and far into the stream."""
    X, y = number_stream(1500, d=4, n_classes=3, seed=3)
    y = np.where(np.arange(1500) < 900, y % 2, y)
    for gamma in ("adaptive", "auto"):
        clf, lost = OnlineMBBM(15, gamma=gamma, combiner="last"), 0
        for at in range(0, 1500, 100):
            for one, label in zip(X[at : at + 100], y[at : at + 100], strict=True):
                new = not hasattr(clf, "classes_") or label not in clf.classes_
                if new:  # with its own class, as it is learned
                    before = (
                        ledger([clf._model.chain.joined().segments[0].booster]) if hasattr(clf, "classes_") else None
                    )
                else:
                    votes = clf._model.chain.ask(one[None], len(clf.classes_), clf._combiner(), 15).rows.s[0]
                clf.partial_fit(one[None], [label])
                found = ledger_of(clf)
                if new:
                    known = 0.0 if before is None else before.promised + before.excess
                    lost += round(found.promised + found.excess - known)
                else:
                    own = clf.classes_.tolist().index(label)
                    lost += len(votes) > 1 and np.delete(votes, own).max() >= votes[own]
        assert abs(found.promised + found.excess - lost) < 1e-6
        assert found.bound is None or lost <= found.bound


def test_the_guarantee_has_what_was_lost_and_the_bound():
    X, y = number_stream(600, d=4, n_classes=3, seed=3)
    clf = OnlineMBBM(15, gamma="adaptive", combiner="last")
    said = clf.test_then_train(X, y, classes=[0, 1, 2])
    found = guarantee(clf, (said != y).sum())
    assert (said != y).sum() <= round(found.lost, 6) <= found.adaptive_bound  # a tie that is won counts as lost
    assert abs(found.lost - round(found.lost)) < 1e-9
    assert found.adaptive_bound == ledger([segment.booster for segment in clf._model.chain.segments]).bound
    assert "bound from gammas" in dict(found.lines(verbose=True))


def test_a_model_goes_on_from_its_file(tmp_path, quick):
    X, y, _ = mixed_stream(600, seed=4)
    clf = OnlineMBBM(8, gamma="adaptive").fit(X[:410], y[:410])  # between two reviews, with something noted
    clf.save(tmp_path / "model")
    again = load(tmp_path / "model")
    for one in (clf, again):
        one.partial_fit(X[410:], y[410:])
    assert state_of(clf) == state_of(again)


@pytest.mark.parametrize("settings", [{"loss": "hinge"}, {"potential": "monte_carlo"}])
def test_other_losses_have_no_adaptive_gammas(settings):
    with pytest.raises(ValueError, match='gamma="adaptive" is for'):
        OnlineMBBM.paper("adaptive", 3, **settings).fit([[0.0], [1.0]], [0, 1])
