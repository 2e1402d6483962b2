"""Data sets from the network: the known data, whole and checked, or an error that says what to do, and nothing kept.

A server on this machine stands for the public homes.
"""

from __future__ import annotations

import gzip
import os
import threading
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from click.testing import CliRunner

from onlineboost.cli.main import main
from onlineboost.data.errors import DataError
from onlineboost.datasets import load
from onlineboost.datasets.catalogue import SETS
from onlineboost.datasets.load import fetch_dataset, fingerprint, load_dataset, read_file
from test_datasets import as_text, data_home, published

FETCHED = [name for name, spec in SETS.items() if spec.file is not None and spec.file.fetch is not None]
COMMENTS = b"% made by hand\r\n@relation small\n@attribute a numeric\n\n@DATA\n% the rows\n"
HEADER, ROWS = ["a", "b", "class"], [["1.5", "x y", "up"], ["2", "z", "down"]]


class Home(BaseHTTPRequestHandler):
    """Serves `server.files`: bytes, a number (an error), text (a redirect), or a pair (length to tell, bytes)."""

    def do_GET(self):
        self.server.asked.append(self.path)
        what = self.server.files.get(self.path, 404)
        length, body = what if isinstance(what, tuple) else (len(what) if isinstance(what, bytes) else 0, what)
        self.send_response(302 if isinstance(what, str) else what if isinstance(what, int) else 200)
        if isinstance(what, str):
            self.send_header("Location", what)
        self.send_header("Content-Length", str(length))
        self.end_headers()
        if isinstance(body, bytes):
            self.wfile.write(body)

    def log_message(self, *args):
        pass


@pytest.fixture
def home(tmp_path, monkeypatch):
    """A public home, to which `small` is added: a data set of two rows that mushroom's line stands for."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), Home)
    server.files, server.asked = {}, []
    server.url = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    monkeypatch.setattr(load, "SCHEMES", ("http",))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv("ONLINEBOOST_OFFLINE")
    monkeypatch.delenv("ONLINEBOOST_DATA", raising=False)
    for proxy in [name for name in os.environ if name.lower().endswith("_proxy")]:
        monkeypatch.delenv(proxy)
    yield server
    server.shutdown()
    server.server_close()
    thread.join()


@pytest.fixture
def small(home, tmp_path, monkeypatch):
    """The data set `mushroom` as one of two rows; gives the file's place on the server a name."""
    known = tmp_path / "known.csv"
    known.write_text("\n".join(",".join(row) for row in [HEADER, *ROWS]) + "\n")
    spec = SETS["mushroom"]

    def small(path, most=10_000):
        fetch = replace(spec.file.fetch, url=home.url + path, names=" ".join(HEADER), order=(1, 2, 0), most=most)
        file = replace(spec.file, sha256=fingerprint(*read_file(known, spec.file)), fetch=fetch)
        monkeypatch.setitem(SETS, "mushroom", replace(spec, rows=2, columns=2, file=file))

    return small


def public(rows=ROWS, quote=""):
    """The rows as the public file has them: the class first."""
    return "".join(f"{row[-1]},{row[0]},{quote}{row[1]}{quote}\n" for row in rows).encode()


def cached(tmp_path):
    folder = tmp_path / "cache" / "onlineboost" / "data"
    return sorted(path.name for path in folder.iterdir()) if folder.exists() else []


# ------------------------------------------------------------------------------------------------------ what is fetched


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/small.data", public()),
        ("/small.data.gz", gzip.compress(public())),
        ("/small.arff", COMMENTS + public(quote="'") + b"\n"),
    ],
    ids=["text", "compressed", "arff"],
)
def test_a_fetched_set_is_the_known_one(home, small, tmp_path, path, body):
    small(path)
    home.files[path] = body
    seen = []
    there = fetch_dataset("mushroom", progress=lambda *so_far: seen.append(so_far))
    assert there == tmp_path / "cache" / "onlineboost" / "data" / "mushroom.csv.gz"
    assert as_text(load_dataset("mushroom")) == [HEADER, *ROWS]
    assert cached(tmp_path) == ["mushroom.csv.gz"]
    assert seen[-1] == (len(body), len(body))


@pytest.mark.parametrize("name", FETCHED)
def test_the_public_files_are_named_and_ordered_as_ours(name):
    file = SETS[name].file
    with gzip.open(data_home(file.name) / file.name, "rt") as lines:
        assert file.fetch.names.split() == next(lines).strip().split(",")
    assert sorted(file.fetch.order) == list(range(len(file.fetch.names.split())))
    assert (data_home(file.name) / file.name).stat().st_size < file.fetch.most
    assert file.fetch.url.startswith("https://")


@pytest.fixture
def rows():
    return published("segment.csv.gz")[1:]


def test_real_rows_come_as_openml_has_them(rows, home, monkeypatch):
    """In ARFF, with the sum that is in the catalogue; only the home is ours."""
    spec = SETS["segment"]
    fetch = replace(spec.file.fetch, url=home.url + "/segment.arff")
    monkeypatch.setitem(SETS, "segment", replace(spec, file=replace(spec.file, fetch=fetch)))
    home.files["/segment.arff"] = COMMENTS + "\n".join(",".join(row) for row in rows).encode()
    assert len(load_dataset("segment", fetch=True)) == 2310


def test_what_is_there_is_not_fetched_again(home, small):
    small("/small.data")
    home.files["/small.data"] = public()
    for _ in range(2):
        assert len(load_dataset("mushroom", fetch=True)) == 2
    assert home.asked == ["/small.data"]


# ------------------------------------------------------------------------------------------------------ what goes wrong


@pytest.mark.parametrize(
    ("what", "says"),
    [
        (public(ROWS[:1]), "sha256"),
        (b"up,1.5\n", "a row of 2 values, expected 3"),
        (b"<html>not here any more</html>", "a row of 1 values"),
        (b"\xff\xfe\x00", "decode"),
        (500, "500"),
        (404, "404"),
        ((1000, public()), "lost after 20 of 1,000 bytes|IncompleteRead"),
        (b"up,1.5,x\n" * 2000, "more than the 10,000 bytes"),
        ("file:///etc/passwd", "file:///etc/passwd"),
        ("ftp://127.0.0.1/small.data", "not a http address"),
    ],
    ids=["short", "narrow", "html", "binary", "500", "404", "cut", "large", "to-file", "to-ftp"],
)
def test_a_wrong_download_leaves_nothing_behind(home, small, tmp_path, what, says):
    small("/small.data")
    home.files["/small.data"] = what
    with pytest.raises(DataError, match=f"could not fetch 'mushroom' from http://127.*({says}).*Try again later"):
        fetch_dataset("mushroom")
    assert cached(tmp_path) == []


def test_a_small_file_cannot_become_a_large_one(home, small, tmp_path):
    small("/small.data.gz")
    home.files["/small.data.gz"] = gzip.compress(b"up,1.5,x\n" * 100_000)
    with pytest.raises(DataError, match="more than the 10,000 bytes"):
        fetch_dataset("mushroom")
    assert cached(tmp_path) == []


def test_a_server_that_says_nothing_is_given_up(home, small, monkeypatch):
    """It takes the connection, and never answers."""
    small("/small.data")
    waiting = threading.Event()
    monkeypatch.setattr(Home, "do_GET", lambda self: waiting.wait(5))
    monkeypatch.setattr(load, "MAX_QUIET_SECONDS", 0.1)
    with pytest.raises(DataError, match="timed out"):
        fetch_dataset("mushroom")
    waiting.set()


def test_a_failed_download_leaves_the_file_there_was(home, small, tmp_path):
    small("/gone.data")
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "mushroom.csv.gz").write_bytes(b"as it was")
    with pytest.raises(DataError, match="404"):
        fetch_dataset("mushroom", data_home=tmp_path / "mine")
    assert [path.read_bytes() for path in (tmp_path / "mine").iterdir()] == [b"as it was"]


def test_no_address_but_https(home, small, monkeypatch):
    small("/small.data")
    monkeypatch.setattr(load, "SCHEMES", ("https",))
    with pytest.raises(DataError, match="not a https address"):
        fetch_dataset("mushroom")
    assert home.asked == []


def test_sets_without_a_known_public_file_are_not_fetched():
    with pytest.raises(DataError, match=r"'isolet' cannot be fetched automatically\. .*ISOLET"):
        fetch_dataset("isolet")
    with pytest.raises(DataError, match="'car' is generated"):
        fetch_dataset("car")


# ----------------------------------------------------------------------------------------------------- the command line


def call(*words):
    return CliRunner().invoke(main, words)


def test_a_set_is_fetched_when_it_is_run(home, small, tmp_path):
    small("/small.data")
    home.files["/small.data"] = public()
    done = call("compare", "mushroom", "--models", "majority")
    assert done.exit_code == 0, done.output
    assert "2 examples" in done.output
    assert "Downloaded mushroom from 127.0.0.1" in " ".join(done.output.split())
    assert call("datasets", "mushroom").output.count("yes") == 1


@pytest.mark.parametrize("words", [("compare", "electricity"), ("datasets", "electricity", "--fetch")])
def test_without_a_network_it_says_what_to_do(words, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.delenv("ONLINEBOOST_DATA", raising=False)
    done = call(*words)
    assert done.exit_code == 2
    assert "Traceback" not in done.output
    for part in ("'electricity' is not fetched", "electricity.csv.gz", str(tmp_path), "ONLINEBOOST_DATA", "OFFLINE"):
        assert part in done.output

    monkeypatch.delenv("ONLINEBOOST_OFFLINE")
    monkeypatch.setattr("onlineboost.datasets.load.download", unreachable)
    told = call(*words).output
    for part in ("openml.org", "Name or service not known", "ONLINEBOOST_DATA", "nursery", "need no file"):
        assert part in told


def unreachable(*_):
    raise OSError(-2, "Name or service not known")


def test_a_set_can_be_written_to_a_file(tmp_path):
    out = tmp_path / "events.csv"
    assert call("datasets", "balance", "--out", str(out)).exit_code == 0
    written = [line.split(",") for line in Path(out).read_text().splitlines()]
    assert written == as_text(load_dataset("balance").shuffled(0))  # in the order of `onlineboost run balance`
    assert "wants the NAME" in call("datasets", "--fetch").output
    assert "Did you mean" in call("datasets", "balanse").output
