"""The soak ends well where nothing is wrong, and badly, with the seed, where something is."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from integration.soak import __main__ as soak
from integration.soak import store as store_soak
from integration.soak import watched
from integration.soak.actions import ACTIONS
from integration.soak.ground import Ground


@pytest.mark.parametrize("seed", range(3))
def test_threads_that_mix_targets(seed: int) -> None:
    """Nothing changes while another thread goes through it; the process ends by itself.

    Most goes wrong in the first second, when all threads import and nothing is compiled: so several that are short.
    """
    command = [
        sys.executable,
        "-m",
        "integration.soak.process",
        "--seed",
        str(seed),
        "--seconds",
        "3",
        "--only",
        "mix",
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
    assert (done.returncode, done.stderr) == (0, "")
    assert "mix" in done.stdout


def test_a_short_soak(capfd: pytest.CaptureFixture[str]) -> None:
    assert soak.main(["--seconds", "5", "--jobs", "1", "--seed", "7", "--threads", "8"]) == 0
    assert "0 of 1 failed" in capfd.readouterr().out


@pytest.mark.parametrize(
    ("program", "words"),
    [
        ("import os, signal; print('press', flush=True); os.kill(os.getpid(), signal.SIGABRT)", "died of SIGABRT in ['press']"),
        ("print('fork', flush=True); raise SystemExit(1)", "ended with status 1 in ['fork']"),
        ("import time; print('alarm', flush=True); time.sleep(60)", "hangs in ['alarm']"),
    ],
)  # fmt: skip
def test_what_fails_is_reported(
    program: str, words: str, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(soak, "_command", lambda *_: [sys.executable, "-c", program])
    monkeypatch.setattr(watched, "SILENCE", 1.0)
    assert soak.main(["--seconds", "1", "--jobs", "1", "--seed", "3"]) == 1
    said = capfd.readouterr().out
    assert words in said
    assert "seed 3" in said


def test_every_action_has_its_turn() -> None:
    assert all(often > 0 for _, often in ACTIONS.values())


@pytest.mark.parametrize(
    ("only", "words"),
    [
        ("kill,clear", ["3 times killed", "3 times cleared"]),
        (
            "remove,block,kill,full,move,read-only",
            ["1 times removed", "1 times killed", "1 times moved away", "1 times full"],
        ),
    ],
)
def test_processes_on_one_store(only: str, words: list[str], capfd: pytest.CaptureFixture[str]) -> None:
    """Killed, and with a folder that vanishes, is no folder, full or read-only, every process has right results."""
    arguments = ["--processes", "4", "--happenings", "6", "--cases", "4", "--seed", "3", "--only", only]
    code = store_soak.main(arguments)
    said = capfd.readouterr().out
    assert code == 0, said
    assert "0 failures" in said
    assert all(word in said for word in words), said


@pytest.mark.parametrize(
    ("program", "words"),
    [
        ("raise SystemExit('no')", "ended with status 1"),
        ("print('warned CacheWarning a'); print('warned CacheWarning b')", "warned 2 times"),
        ("print('warned DeprecationWarning a')", "warned 1 times"),
        ("import time; print('begin', flush=True); time.sleep(60)", "ended with status -10"),
    ],
)
def test_what_a_sharer_does_wrong(
    program: str, words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watched, "SILENCE", 1.5)
    monkeypatch.setattr(store_soak, "_command", lambda *_: [sys.executable, "-c", program])
    soak = store_soak.Soak(Ground(tmp_path), 1, [], 1, 1, 3)
    sharer = store_soak.Sharer(3, tmp_path, soak.heard, 1)
    while not sharer.is_over():
        pass
    soak._close(sharer)
    assert words in soak.failures[0]
