"""One model for each value of a column: who answers, what is kept, and that a replay has the same."""

from __future__ import annotations

import json
import time

import pytest
from click.testing import CliRunner

pytest.importorskip("fcntl")  # not on Windows
pytest.importorskip("msgspec")
pytest.importorskip("uvicorn")

from onlineboost import HoeffdingTree
from onlineboost.cli.main import main
from onlineboost.service import follower
from onlineboost.service.keyed import LEAST, Keyed
from onlineboost.service.replay import Replay
from onlineboost.service.service import create
from test_service import Process, serving

pytestmark = pytest.mark.compiled


def event(at, machines=4):
    """What is good for one machine is bad for the next."""
    machine = at % machines
    value = (at * 37 % 100) / 100
    return {
        "row": {"machine": f"m{machine}", "load": value},
        "label": "good" if (value > 0.5) == (machine % 2) else "bad",
    }


def test_each_key_is_answered_by_its_own_model(tmp_path):
    create(tmp_path / "live", HoeffdingTree(), keyed=Keyed("machine", 10, HoeffdingTree()))
    with serving(tmp_path / "live") as client:
        client.ask("/learn", [event(at) for at in range(800)])
        client.learned(800)
        keyed = client.service.answering.keyed
        assert set(keyed.models) == {"m0", "m1", "m2", "m3"}
        alone = HoeffdingTree()
        for at in range(1, 800, 4):
            alone.learn_one(event(at)["row"], event(at)["label"])
        rows = [event(at)["row"] for at in range(801, 901, 4)]
        said = client.ask("/predict", [{"row": row} for row in rows])[1]
        assert [each["probabilities"] for each in said] == [alone.predict_proba_one(row) for row in rows]
        stranger = {"machine": "m9", "load": 0.9}  # the model of all answers
        shared = client.service.answering.clf.predict_proba_one(stranger)
        assert client.ask("/predict", {"row": stranger})[1]["probabilities"] == shared
        assert client.ask("/predict", {"row": {"load": 0.9}})[0] == 200  # no key
        inputs = [
            {"name": "machine", "shape": [2], "datatype": "BYTES", "data": ["m1", "m9"]},
            {"name": "load", "shape": [2], "datatype": "FP64", "data": [0.9, 0.9]},
        ]
        outputs = client.ask("/v2/models/main/infer", {"inputs": inputs, "outputs": [{"name": "label"}]})[1]["outputs"]
        assert [(output["name"], output["shape"]) for output in outputs] == [("label", [2])]
        assert client.ask("/model")[1]["models"][0]["keys"] == {"column": "machine", "models": 4, "error": ""}


def test_the_state_is_that_of_a_replay_with_keys_that_come_and_go(tmp_path, monkeypatch):
    monkeypatch.setattr(follower, "MOST_REPLAY", 0.0)  # a snapshot whenever there can be one
    create(tmp_path / "live", HoeffdingTree(), keyed=Keyed("machine", 3, HoeffdingTree()))
    for first in range(0, 600, 150):
        with serving(tmp_path / "live") as client:
            for at in range(first, first + 150, 10):
                client.ask("/learn", [event(i, 2 + first // 150) for i in range(at, at + 10)])
            client.learned(first + 150)
            assert len(client.service.answering.keyed.models) <= 3
    assert list(client.service.answering.keyed.models) == ["m2", "m3", "m4"]
    replayed = Replay(tmp_path / "live", "main")
    assert replayed.run(to_snapshot=True)["events"] == 600
    assert replayed.is_snapshot()
    replayed.saved_keyed.models.popitem()
    assert not replayed.is_snapshot()


def test_a_row_that_the_model_of_its_key_cannot_take_is_answered_by_the_one_of_all(tmp_path):
    create(tmp_path / "live", HoeffdingTree(), keyed=Keyed("machine", 3, HoeffdingTree()))
    rows = [{"machine": "a", "load": 1.0} for _ in range(LEAST)] + [{"machine": "b", "load": 1.0, "word": "x"}]
    with serving(tmp_path / "live") as client:
        client.ask("/learn", [{"row": row, "label": "ok"} for row in rows])
        client.learned(len(rows))
        assert client.ask("/learn", {"row": {"machine": "a", "load": 1.0, "word": 7}, "label": "ok"})[0] in (200, 422)
        assert client.ask("/predict", {"row": {"machine": "a", "load": 1.0, "word": "y"}})[0] == 200
        assert not client.service.problems()


def test_by_the_command_line(tmp_path):
    options = "--model", "hoeffding-tree", "--key", "machine", "--most-keys", "20"
    served = Process(tmp_path / "live", *options)
    assert served.ask("/learn", [event(at) for at in range(400)])[0] == 200
    until = time.monotonic() + 30.0
    while served.ask("/health", None)[1]["behind"]:
        assert time.monotonic() < until
        time.sleep(0.01)
    assert served.ask("/model", None)[1]["models"][0]["keys"]["models"] == 4
    assert served.end() == ""
    done = CliRunner().invoke(main, ["serve", str(tmp_path / "live"), "--key", "customer"])
    assert done.exit_code == 2
    assert "for each machine: leave --model" in " ".join(done.output.split())
    done = CliRunner().invoke(main, ["replay", str(tmp_path / "live"), "--check", "--json"])
    assert json.loads(done.output)["same as the snapshot"]
