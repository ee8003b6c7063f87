"""Modules are executed when they are used first, and commands when they are named."""

import os
import subprocess
import sys
import textwrap
from collections.abc import Sequence
from importlib.util import module_from_spec
from pathlib import Path

import click
import pytest

from seatrial.cli import main
from seatrial.cli.main import SUMMARIES, seatrial
from seatrial.frame import lazy


def loaded_by(*lines: Sequence[str]) -> set[str]:
    """Names of the modules that commands execute, in a process of their own."""
    text = f"""
        import sys
        from seatrial.frame import lazy
        lazy.install()
        from seatrial.frame.command_line import run
        for line in {[list(line) for line in lines]!r}:
            run(line)
        done = [name for name, one in list(sys.modules.items()) if type(one) is not lazy.LazyModule]
        print("LOADED", *done)
    """
    argv = [sys.executable, "-P", "-c", textwrap.dedent(text)]
    done = subprocess.run(argv, capture_output=True, text=True, timeout=60, check=True)
    return set(done.stdout.rpartition("LOADED")[2].split())


HELP = (("--help",), *((name, "--help") for name in SUMMARIES), ("lab", "up", "--help"))


def test_help_executes_no_command() -> None:
    loaded = loaded_by(*HELP)
    assert "seatrial.cli.main" in loaded
    heavy = {"numpy", "duckdb", "rich", "jinja2", "ClusterShell"}
    assert not heavy & {name.partition(".")[0] for name in loaded}
    files = {name for name in loaded if name.startswith(("seatrial.commands.", "seatrial.driver.", "seatrial.lab."))}
    source = Path(main.__file__).parents[1]
    light = {"seatrial.driver.progress", "seatrial.commands.judge.kinds"}
    assert {name for name in files if not source.joinpath(*name.split(".")[1:]).is_dir()} <= light


def test_a_command_executes_no_other() -> None:
    others = {f"seatrial.cli.{seatrial._modules.get(name, name)}" for name in SUMMARIES}
    others -= {"seatrial.cli.report", "seatrial.cli.facts"}
    assert others & loaded_by(("runs", "list", "--help")) == {"seatrial.cli.runs"}


@pytest.mark.parametrize("name", SUMMARIES)
def test_the_table_has_the_help_of_every_command(name: str) -> None:
    command = seatrial.get_command(click.Context(seatrial), name)
    assert command
    assert command.help == SUMMARIES[name]


LAZILY = """
from seatrial.frame import lazy
lazy.install()
import sys
sys.path.insert(0, {folder!r})
import seatrial
seatrial.__path__.append({folder!r})
from seatrial import slow
assert type(slow) is lazy.LazyModule
{then}
"""


def lazily(folder: Path, module: str, then: str) -> str:
    """What a program prints that has imported `seatrial.slow` lazily."""
    (folder / "slow.py").write_text(textwrap.dedent(module))
    text = LAZILY.format(folder=str(folder), then=textwrap.dedent(then))
    done = subprocess.run([sys.executable, "-P", "-c", text], capture_output=True, text=True, timeout=60, check=False)
    return done.stdout + done.stderr


def test_threads_that_use_a_module_first_at_once_all_find_it_whole(tmp_path: Path) -> None:
    said = lazily(
        tmp_path,
        "import time\nprint('executed')\ntime.sleep(0.5)\nvalue = 7\n",
        """
        from concurrent.futures import ThreadPoolExecutor
        with ThreadPoolExecutor(4) as pool:
            print(list(pool.map(lambda _: slow.value, range(4))))
        """,
    )
    assert said == "executed\n[7, 7, 7, 7]\n"


def test_a_module_that_fails_is_tried_again_and_names_that_it_lacks_are_errors(tmp_path: Path) -> None:
    said = lazily(
        tmp_path,
        """
        import os
        if "READY" not in os.environ:
            raise MemoryError("not yet")
        value = 7
        """,
        """
        import os
        try:
            slow.value
        except MemoryError as error:
            print(error)
        os.environ["READY"] = "1"
        print(slow.value, hasattr(slow, "nothing"), type(slow) is lazy.LazyModule)
        """,
    )
    assert said == "not yet\n7 False False\n"


@pytest.mark.parametrize("threads", ["7", None])
def test_numpy_has_one_thread_and_programs_have_the_users_setting(
    threads: str | None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.delenv(lazy.THREADS, raising=False)
    if threads:
        monkeypatch.setenv(lazy.THREADS, threads)
    (tmp_path / "numpy.py").write_text(f"import os\nseen = os.environ[{lazy.THREADS!r}]\n")
    spec = lazy.LazyFinder.find_spec("numpy", [str(tmp_path)])
    assert spec
    assert spec.loader
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    assert (module.seen, os.environ.get(lazy.THREADS)) == ("1", threads)


def test_numpy_starts_no_thread() -> None:
    """One would come for each further core as OpenBLAS is loaded."""
    program = "from seatrial.frame import lazy\nlazy.install()\nimport os, numpy\nprint(*os.listdir('/proc/self/task'))"
    done = subprocess.run([sys.executable, "-P", "-c", program], capture_output=True, text=True, timeout=60, check=True)
    assert len(done.stdout.split()) == 1
