"""One soaked process: draws actions from its seed until its time is over, and says each before it begins."""

from __future__ import annotations

import argparse
import faulthandler
import os
import signal
import sys
import time

import numpy as np

from integration.soak.actions import ACTIONS, State

__all__ = ["main"]


def main(arguments: list[str] | None = None) -> int:
    """Soak this process; 0 when every action ended right."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument("--seconds", type=float, required=True)
    parser.add_argument("--threads", type=int, default=max(4, os.cpu_count() or 1))
    parser.add_argument("--only", default=",".join(ACTIONS))
    given = parser.parse_args(arguments)
    faulthandler.enable()
    faulthandler.register(signal.SIGUSR1, all_threads=True)
    state = State(np.random.default_rng(given.seed), given.threads)
    names = given.only.split(",")
    weights = np.array([ACTIONS[name][1] for name in names], float)
    end = time.monotonic() + given.seconds
    while time.monotonic() < end:
        name = names[int(state.draw.choice(len(names), p=weights / weights.sum()))]
        print(name, flush=True)
        ACTIONS[name][0](state)
    return 0


if __name__ == "__main__":
    sys.exit(main())
