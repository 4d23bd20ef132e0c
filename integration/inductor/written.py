"""``python -m integration.inductor.written [--every 8] [--targets nvidia:sm_90a,amd:gfx942]``: kernels that Inductor writes for an H100.

They are those of the programs of ``integration.inductor.programs``, compiled by its workers without a GPU, for other targets as well.  None may
be refused, of the versions of templates for GEMMs and convolutions (each fourth) neither; of the first PyTorch's static launcher has to take
95 % where it launches such images.  Nothing runs: :mod:`integration.inductor.faked`.
"""

# mypy: disable-error-code="import-not-found,import-untyped,no-untyped-call,misc"

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable

__all__ = ["main"]

#: of the versions of a template, of which Inductor measures some twenty
_VERSIONS = 4
#: kernels that all programs have together, at the least
_ENOUGH = 200
_TARGETS = ("nvidia:sm_90a", "amd:gfx942", "intel:pvc", "cpu")


def main() -> int:
    """Write and compile; 1 where a kernel is refused, a program is not written or the launcher takes too few."""
    parser = argparse.ArgumentParser(prog="python -m integration.inductor.written", description=__doc__)
    parser.add_argument("programs", nargs="*", help="all by default")
    parser.add_argument("--every", type=int, default=1, help="of the programs one of so many")
    parser.add_argument("--targets", default="nvidia:sm_90a", help="all: " + ",".join(_TARGETS))
    given = parser.parse_args()
    import tri.compat.triton

    tri.compat.triton.install()
    from integration.inductor.programs import PROGRAMS, TEMPLATES
    from integration.inductor.running import start_workers
    from integration.inductor.static_launcher import DEVICES, share

    unknown = [name for name in given.programs if name not in {**PROGRAMS, **TEMPLATES}]
    if unknown:
        parser.error(f"no program {', '.join(unknown)}")
    targets = _TARGETS if given.targets == "all" else given.targets.split(",")
    if unknown := [target for target in targets if target not in DEVICES]:
        parser.error(f"no target {', '.join(unknown)}; there are {', '.join(_TARGETS)}")
    chosen = [
        [name for name in given.programs if name in programs]
        if given.programs
        else list(programs)[:: given.every]
        for programs in (PROGRAMS, TEMPLATES)
    ]
    kernels, failed = _kernels(chosen[0])
    templates, further = _kernels(chosen[1])
    start_workers()
    bad = bool(failed or further)
    bad |= not given.programs and len(kernels) * given.every < _ENOUGH
    for target in targets:
        found = share(kernels, DEVICES[target])
        print(f"{len(chosen[0])} programs: {found}", flush=True)
        versions = share(templates, DEVICES[target])
        print(f"{len(chosen[1])} programs of templates: {versions}", flush=True)
        untaken = found.device.is_launched and not given.programs and not found.is_enough
        bad |= bool(untaken or found.refused or versions.refused)
    return bad


def _kernels(names: Iterable[str]) -> tuple[dict[str, str], list[str]]:
    """Names by source of what Inductor writes for those programs, and the programs that it writes nothing for."""
    from integration.inductor.faked import written
    from integration.inductor.programs import PROGRAMS, TEMPLATES

    programs = {**PROGRAMS, **TEMPLATES}
    kernels: dict[str, str] = {}
    failed = []
    for name in names:
        program = programs[name]
        try:
            made = written(program.step, program.inputs(), program.settings, dynamic=program.dynamic)
        except Exception as error:
            print(f"{name}: {type(error).__name__}: {error}", flush=True)
            failed.append(name)
            continue
        kernels |= {**made.kernels, **dict(list(made.templates.items())[::_VERSIONS])}
    return kernels, failed


if __name__ == "__main__":
    sys.exit(main())
