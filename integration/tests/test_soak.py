"""The soak ends well where nothing is wrong, and badly, with the seed, where something is."""

from __future__ import annotations

import subprocess
import sys

import pytest

from integration.soak import __main__ as soak
from integration.soak.actions import ACTIONS


def test_threads_that_mix_targets() -> None:
    """Nothing changes while another thread goes through it; the process ends by itself."""
    command = [
        sys.executable,
        "-m",
        "integration.soak.process",
        "--seed",
        "1",
        "--seconds",
        "15",
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
    monkeypatch.setattr(soak, "_SILENCE", 1.0)
    assert soak.main(["--seconds", "1", "--jobs", "1", "--seed", "3"]) == 1
    said = capfd.readouterr().out
    assert words in said
    assert "seed 3" in said


def test_every_action_has_its_turn() -> None:
    assert all(often > 0 for _, often in ACTIONS.values())
