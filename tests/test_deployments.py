"""The package starts anywhere: in containers, on full or foreign folders, in workers, below programs of other makes.

Every deployment imports the package, shows its help and runs a kernel; those that can keep machine code learn, too,
with that of this session.
"""

from __future__ import annotations

import os
import pickle
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from onlineboost import HoeffdingTree
from onlineboost._compile import cache, system

posix = pytest.mark.skipif(not hasattr(os, "getuid"), reason="no owners and modes")
X, Y = [[0.0], [1.0]] * 15, ["low", "high"] * 15
FIT = f"""
from onlineboost import HoeffdingTree
if __name__ == "__main__":
    print(HoeffdingTree().fit({X}, {Y}).predict([[0.0], [1.0]]).tolist())
"""
FITTED = "['low', 'high']"
HELP = "from onlineboost.cli.main import main; main(['--help'])"
KERNEL = (
    "from onlineboost._compile import cache, random as r; print(r.uniform(1, 2, 3, 4), cache.USABLE, cache.CACHE_DIR)"
)
WITHOUT_POSIX = """
import os, sys
for name in ("fcntl", "resource", "pwd", "grp"):
    sys.modules[name] = None
for name in ("fork", "getuid", "register_at_fork", "sched_getaffinity"):
    delattr(os, name)
"""
NO_TEMPORARY = "import onlineboost._compile.system as f; f.temporary_folders = lambda: iter(()); "
NOBODY = """
import os, pwd
def gone(*_): raise KeyError("no such user")
pwd.getpwuid = gone
os.environ.pop("HOME", None)
"""


@pytest.fixture(scope="module")
def warm():
    """The folder with the machine code of this session."""
    HoeffdingTree().fit(X, Y)
    if not cache.USABLE:
        pytest.skip("this session has no folder for machine code")
    return cache.CACHE_DIR


def run(code, env=None, cwd=None, **options):
    env = {**os.environ, "NUMBA_CACHE_DIR": "", **(env or {})}
    done = subprocess.run([sys.executable, "-c", code], env=env, cwd=cwd, capture_output=True, text=True, **options)
    assert done.returncode == 0, done.stderr
    told = done.stderr.partition("Exception ignored on calling ctypes callback")[0]  # Ctrl-C within the compiler
    assert "Traceback" not in told
    return done


def kernel(code="", env=None, **options):
    """(whether machine code is kept, and where) once a kernel has run."""
    value, usable, folder = run(code + KERNEL, env, **options).stdout.split(maxsplit=2)
    assert float(value) == pytest.approx(0.5, abs=0.5)
    assert run(code + HELP, env, **options).stdout.startswith("Usage")
    return usable == "True", Path(folder.strip())


def fit(env, **options):
    return run(FIT, env, **options)


# ----------------------------------------------------------------------------------------------------------- folders


@pytest.mark.slow
def test_a_folder_of_its_own(tmp_path, warm):
    shutil.copytree(warm, tmp_path / "onlineboost" / warm.name)
    env = {"XDG_CACHE_HOME": str(tmp_path)}
    assert kernel(env=env) == (True, tmp_path / "onlineboost" / warm.name)
    assert fit(env).stdout.strip() == FITTED


@pytest.mark.slow
def test_a_folder_that_the_user_has_chosen(tmp_path, warm):
    shutil.copytree(warm, tmp_path / warm.name)
    env = {"NUMBA_CACHE_DIR": str(tmp_path)}
    assert kernel(env=env) == (True, tmp_path / warm.name)
    assert fit(env).stdout.strip() == FITTED


@posix
@pytest.mark.slow
def test_no_home_and_no_such_user(tmp_path):
    """A container with a user that no list knows."""
    env = {"XDG_CACHE_HOME": "", "TMPDIR": str(tmp_path)}
    usable, folder = kernel(NOBODY, env)
    assert usable
    assert folder.parents[1] == tmp_path / f"onlineboost-{os.getuid()}"


def test_no_folder_at_all():
    """A file system that can only be read: one warning says so, and what to do."""
    usable, _ = kernel(NO_TEMPORARY, {"XDG_CACHE_HOME": os.path.join(os.devnull, "below")})
    assert not usable
    code = (
        NO_TEMPORARY
        + "from onlineboost._compile.jit import announce_compilation\nannounce_compilation('it')\n"
        + KERNEL
    )
    said = run(code, {"XDG_CACHE_HOME": os.path.join(os.devnull, "below")}).stderr
    assert "machine code cannot be kept" in said
    assert "set NUMBA_CACHE_DIR to a folder of your own" in said


@posix
@pytest.mark.slow
def test_a_home_that_cannot_be_written_to(tmp_path):
    env = {"XDG_CACHE_HOME": os.path.join(os.devnull, "below"), "TMPDIR": str(tmp_path)}
    usable, folder = kernel(env=env)
    assert usable
    assert folder.parent == tmp_path / f"onlineboost-{os.getuid()}"


@posix
@pytest.mark.parametrize("value", ["", *(pytest.param(value, marks=pytest.mark.slow) for value in (".", "cache"))])
def test_never_below_the_current_folder(tmp_path, value):
    """Its files may come from anywhere, and machine code is run."""
    _, folder = kernel(env={"XDG_CACHE_HOME": value, "HOME": value, "TMPDIR": value}, cwd=tmp_path)
    assert tmp_path not in folder.parents
    assert not list(tmp_path.iterdir())


@posix
@pytest.mark.slow
def test_a_folder_that_others_can_write_to_is_made_private_or_left_alone(tmp_path, warm):
    shutil.copytree(warm, tmp_path / warm.name)
    (tmp_path / warm.name).chmod(0o777)
    assert kernel(env={"NUMBA_CACHE_DIR": str(tmp_path)})[0]
    assert (tmp_path / warm.name).stat().st_mode & 0o777 == 0o700
    tmp_path.chmod(0o777)  # whoever may write here could put another folder in its place
    assert not kernel(env={"NUMBA_CACHE_DIR": str(tmp_path)})[0]
    tmp_path.chmod(0o1777)
    assert kernel(env={"NUMBA_CACHE_DIR": str(tmp_path)})[0]


@posix
def test_a_folder_of_another_user_is_left_alone(tmp_path, monkeypatch):
    owner = os.getuid()
    monkeypatch.setattr(os, "getuid", lambda: owner + 1)
    if owner == 0:
        os.chown(tmp_path, 4711, -1)
    assert system.make_private(tmp_path / "kernels").endswith("belongs to another user")


def test_without_source_files_nothing_is_kept(monkeypatch, tmp_path):
    """In an archive there is no telling when machine code is out of date."""
    monkeypatch.setattr(cache, "ROOT", tmp_path)
    monkeypatch.setattr(cache, "SOURCES", cache.source_hash(cache.WITH_KERNELS))
    assert cache._settle()[1] == "the package has no source files"


# -------------------------------------------------------------------------------------------------- damage, full disks


@pytest.mark.parametrize(
    "damage", ["cut off", *(pytest.param(damage, marks=pytest.mark.slow) for damage in ("emptied", "a bit turned"))]
)
def test_damaged_machine_code_is_made_again(tmp_path, damage):
    env = {"NUMBA_CACHE_DIR": str(tmp_path)}
    run(KERNEL, env)
    (file,) = tmp_path.rglob("*.nbc")
    good = file.read_bytes()
    bad = {"cut off": good[:-100], "emptied": b"", "a bit turned": good[:500] + bytes([good[500] ^ 1]) + good[501:]}
    file.write_bytes(bad[damage])
    said = run(KERNEL, env).stderr
    assert "is damaged" in said
    assert "replaced" in said
    assert not run(KERNEL, env).stderr


def test_a_full_disk_costs_time_alone(tmp_path):
    full = """
import builtins, errno
real = open
def full(path, mode="r", *more, **options):
    if "x" in mode: raise OSError(errno.ENOSPC, "No space left on device")
    return real(path, mode, *more, **options)
import onlineboost._compile.cache as cache
cache.open = full
"""
    said = run(full + KERNEL, {"NUMBA_CACHE_DIR": str(tmp_path)}).stderr
    assert said.count("No space left on device") == 1
    assert "make room there, or set NUMBA_CACHE_DIR" in said
    assert not any(tmp_path.rglob("*.nbc*"))


TWO_TYPES = """
import sys, numpy as np
from onlineboost._compile.jit import kernel
@kernel
def twice(x): return x + x
print(twice({"int": 2, "float": 2.5, "array": np.ones(3)}[sys.argv[1]]))
"""


@pytest.mark.slow
def test_processes_that_compile_at_once(tmp_path):
    """Each keeps what it compiled, and no one takes another's for its own."""
    script = tmp_path / "twice.py"
    script.write_text(TWO_TYPES)
    env = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
    for _ in range(2):
        started = {
            what: subprocess.Popen([sys.executable, script, what], env=env, stdout=subprocess.PIPE, text=True)
            for what in ("int", "float", "array")
        }
        said = {what: process.communicate()[0].strip() for what, process in started.items()}
        assert said == {"int": "4", "float": "5.0", "array": "[2. 2. 2.]"}
    assert len(list(tmp_path.rglob("*.nbc"))) == 3


# ------------------------------------------------------------------------------------------------ programs around it

START = """
import multiprocessing, sys
from onlineboost import HoeffdingTree
X, Y = [[0.0], [1.0]] * 15, ["low", "high"] * 15
def learn(_): return HoeffdingTree().fit(X, Y).predict([[0.0], [1.0]]).tolist()
if __name__ == "__main__":
    if sys.argv[1] == "fork": learn(0)
    with multiprocessing.get_context(sys.argv[1]).Pool(2) as pool:
        print(pool.map(learn, range(2)))
"""


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
@pytest.mark.slow
def test_workers(tmp_path, warm, method):
    if method != "spawn" and sys.platform == "win32":
        pytest.skip("no fork")
    (tmp_path / "start.py").write_text(START)
    done = subprocess.run([sys.executable, tmp_path / "start.py", method], capture_output=True, text=True)
    assert done.stdout.strip() == f"[{FITTED}, {FITTED}]", done.stderr


@pytest.mark.slow
def test_a_thread_that_is_not_the_main_one(warm):
    code = "import threading\nt = threading.Thread(target=exec, args=(" + repr(FIT) + ", {'__name__': '__main__'}))\n"
    assert run(code + "t.start(); t.join()").stdout.strip() == FITTED


@pytest.mark.slow
def test_a_program_in_c_that_owns_ctrl_c(warm):
    """Python then knows no handler."""
    assert run("import _signal\n_signal.getsignal = lambda number: None\n" + FIT).stdout.strip() == FITTED


@pytest.mark.parametrize("handler", [signal.SIG_IGN, signal.SIG_DFL])
@pytest.mark.slow
def test_ctrl_c_that_is_ignored_or_left_to_the_system_stays_so(warm, handler):
    code = f"import signal\nsignal.signal(signal.SIGINT, signal.Handlers({int(handler)}))\n{FIT}"
    code += f"\nassert signal.getsignal(signal.SIGINT) == {int(handler)}"
    assert run(code).stdout.strip() == FITTED


@pytest.mark.slow
@posix
def test_without_what_windows_lacks(tmp_path):
    """What the system does not have is not asked for; the service says where it runs."""
    use = """
from onlineboost import load
from onlineboost.cli.main import main
load("model.olb").save("again.olb")
sys.platform = "win32"
for words in ("predict again.olb rows.csv --out said.csv", "run balance --limit 50 --model majority", "serve here"):
    main(words.split(), standalone_mode=False)
"""
    HoeffdingTree().fit(X, Y).save(tmp_path / "model.olb")
    (tmp_path / "rows.csv").write_text("x0\n0\n1\n")
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT_POSIX + use], cwd=tmp_path, capture_output=True, text=True, timeout=100
    )
    assert (tmp_path / "said.csv").read_text().split()[1:] == ["low", "high"], done.stderr
    assert "the service runs on Linux and macOS" in done.stdout + done.stderr
    assert not (tmp_path / "here").exists()


def test_without_streams_to_write_to(warm):
    """As a program without a console has it."""
    run("import sys; sys.stdout = sys.stderr = None\n" + FIT.replace("print", "str"))


@pytest.mark.slow
def test_a_notebook(warm):
    """Cells are not files."""
    code = f"import linecache, types\nsource = {FIT!r}\nexec(compile(source, '<ipython-input-1>', 'exec'))"
    assert run(code).stdout.strip() == FITTED


@pytest.mark.slow
def test_in_an_archive(tmp_path):
    """Files of the package in a zip archive: nothing is kept, and all works."""
    shutil.make_archive(str(tmp_path / "package"), "zip", cache.ROOT.parent, "onlineboost")
    code = f"import sys; sys.path.insert(0, {str(tmp_path / 'package.zip')!r}); "
    usable, _ = kernel(code, {"PYTHONPATH": ""})
    assert not usable


# ---------------------------------------------------------------------------------------------- while it is compiling

PRESSED = """
import os, signal, sys, threading, time
from onlineboost import HoeffdingTree
threading.Timer(SECONDS, os.kill, (os.getpid(), signal.SIGINT)).start()
start, model = time.time(), HoeffdingTree()
try:
    model.partial_fit([[0.0], [1.0]] * 15, ["low", "high"] * 15)
except KeyboardInterrupt:
    print("stopped", hasattr(model, "_model"), time.time() - start)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="no signals to oneself")
def test_ctrl_c_while_it_compiles_stops_it_soon_and_changes_nothing(tmp_path):
    done = run(PRESSED.replace("SECONDS", "0.5"), {"NUMBA_CACHE_DIR": str(tmp_path)})
    word, learned, seconds = done.stdout.split()
    assert (word, learned) == ("stopped", "False")
    assert float(seconds) < 8.0  # it takes twice as long and more to compile it all, on a quick machine


def test_an_error_while_it_compiles_changes_nothing(monkeypatch):
    """Such as memory that runs out: the model is as it was, and learns once there is some again."""
    from onlineboost.chain.segments import Segment

    model = HoeffdingTree().partial_fit(X[:10], Y[:10])
    twin = HoeffdingTree().partial_fit(X[:10], Y[:10]).partial_fit(X, Y)
    model = pickle.loads(before := pickle.dumps(model))
    with monkeypatch.context() as patch:
        patch.setattr(Segment, "learn", lambda *_: (_ for _ in ()).throw(MemoryError))
        with pytest.raises(MemoryError):
            model.partial_fit(X, Y)
    assert pickle.dumps(model) == before
    assert pickle.dumps(model.partial_fit(X, Y)) == pickle.dumps(twin)


def test_kernels_that_do_not_compile_are_named_in_a_sentence(monkeypatch):
    """Numba itself takes some hundred lines; it is the author of a booster who reads them."""
    from numba.core.errors import TypingError

    from onlineboost.chain.segments import Segment

    said = "Failed in nopython mode pipeline\n\nCannot determine Numba type of <class 'dict'>\n\nDuring: typing"
    monkeypatch.setattr(Segment, "learn", lambda *_: (_ for _ in ()).throw(TypingError(said)))
    with pytest.raises(TypeError, match=r"kernels of Plain do not compile: Cannot determine .* NUMBA_DISABLE_JIT=1"):
        HoeffdingTree().fit(X, Y)


def test_a_booster_that_came_without_its_kernels_is_told():
    """As joblib's workers are sent one that a script defines: the type is copied, and nothing says what it does."""
    import cloudpickle

    from onlineboost import OzaBoost
    from onlineboost.boosters.oza import Oza

    copy = cloudpickle.loads(cloudpickle.dumps(type("Copied", (Oza,), {"__module__": "__main__"})))

    class Mine(OzaBoost):
        def _new_chain(self, columns, k, seed):
            chain = super()._new_chain(columns, k, seed)
            chain.segments[0].booster = copy(*chain.segments[0].booster)
            return chain

    with pytest.raises(TypeError, match=r"Copied is not a booster in this process.* module of its own"):
        Mine(2).fit(X, Y)
