"""``python -m integration.strangers.listen PACKAGE FOLDER OUT PASS``: run what a package has, write its kernels to ``OUT`` as they come.

One process for a package and a pass (see :data:`PASSES`): what ends it takes no other along.
"""

from __future__ import annotations

import importlib.metadata
import json
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any
from unittest import mock

import tri.compat.triton
from integration.published.limits import TooLong, limited

__all__ = ["CASES", "CODE", "INDUCTOR", "OWN", "PASSES", "Pass", "main"]

#: what is no package: the published cases, those of published machine code, models through PyTorch's compiler, our own benches
CASES, CODE, INDUCTOR, OWN = "cases", "code", "inductor", "own"
#: seconds for one operator
_LIMIT = 60


@dataclass(frozen=True)
class Pass:
    """Pass over the tuners: the ``config`` of each that is kept (counted round), floats of 16 bits
    (``half``), and the number of ``features`` of heads.
    """

    config: int = 0
    half: bool = False
    features: int = 0


PASSES = (
    Pass(),
    Pass(half=True, features=128),
    Pass(1, half=True, features=64),
    Pass(2, half=True, features=128),
    Pass(3, features=64),
    Pass(5, half=True, features=128),
)


@contextmanager
def _limited() -> Iterator[None]:
    """A time for what is inside of the ``with`` block, after which the program goes on behind it."""
    try:
        with limited(_LIMIT):
            yield
    except TooLong as error:
        sys.stderr.write(f"{error}\n")


@contextmanager
def _varied(chosen: Pass) -> Iterator[None]:
    """Arguments and tuners as ``chosen`` has them."""
    import torch

    from integration.published.operators import aten, differentiated, fla, mlstm, recipes
    from tri.tuning.autotuner import Autotuner

    whole, beside = Autotuner.__init__, differentiated.beside

    def init(self: Autotuner, fn: Any, arg_names: Any, configs: Any, *args: Any, **kwargs: Any) -> None:
        listed = list(configs)
        one = listed[chosen.config % len(listed) :][:1] if listed else []
        whole(self, fn, arg_names, one, *args, **kwargs)

    def in_half(*args: Any, **kwargs: Any) -> Any:
        return beside(*args, **{**kwargs, "dtype": torch.bfloat16})

    with ExitStack() as stack:
        stack.enter_context(mock.patch.object(Autotuner, "__init__", init))
        if chosen.half:
            stack.enter_context(mock.patch.object(aten, "DTYPES", (torch.bfloat16, torch.int32, torch.bool)))
            for module in (fla, mlstm):
                stack.enter_context(mock.patch.object(module, "beside", in_half))
        if chosen.features:
            stack.enter_context(mock.patch.object(recipes, "FEATURES", chosen.features))
        yield


def _operators(package: str, folder: Path, recorder: Any, chosen: Pass) -> None:
    from integration.published.guards import taken_for_a_gpus
    from integration.published.operators.operator import DEVICE, judge
    from integration.published.operators.sources import SOURCES

    for operator in SOURCES[package](folder):
        recorder.operator = operator.name
        with _limited():
            verdict = judge(operator)
            if verdict.state == DEVICE:
                with taken_for_a_gpus():
                    verdict = judge(operator)
            # what looks at results goes on with right ones alone
            if verdict.state in ("fails", "the package declines") and chosen == PASSES[0]:
                with mock.patch.object(recorder, "runs", True):
                    judge(operator)


def _cases(folder: Path, recorder: Any) -> None:
    from integration.published.cases import Bench, run
    from integration.published.projects import PROJECTS
    from integration.published.suite import select

    bench = Bench("cpu", folder)
    for item in select([]):
        recorder.package, recorder.operator = item.project, item.kernel
        recorder.version = PROJECTS[item.project].version
        with _limited():
            run(item, bench)


def _code(folder: Path, recorder: Any) -> None:
    import tri
    from integration.published.code.cases import function_of, read, source_of
    from integration.published.projects import PROJECTS

    for case in read():
        recorder.package, recorder.operator = case.project, case.label
        recorder.version = PROJECTS[case.project].version
        source = source_of(tri.ASTSource, function_of(case, folder), case)
        recorder.enter(source, dict(case.options), ())


def _own(folder: Path, recorder: Any) -> None:
    import tri
    from integration.bench_amd_static import cases as amd
    from integration.steady_loops import cases as loops

    del folder
    recorder.version = importlib.metadata.version("tri-core")
    for case in amd.CASES:
        recorder.operator = case.name
        source = amd.source_of(tri.ASTSource, amd.kernel_of(case), case)
        recorder.enter(source, {"num_warps": case.warps, "num_stages": case.stages}, ())
    for one in loops.CASES:
        recorder.operator = one.name
        kernel = getattr(importlib.import_module(f"integration.kernels.{one.module}"), one.kernel)
        source = loops.source_of(tri.ASTSource, kernel, one)
        recorder.enter(source, {"num_warps": one.warps, "num_stages": one.stages}, ())


def _inductor(folder: Path, recorder: Any) -> None:
    del folder
    from integration.strangers.models import run

    recorder.version = importlib.metadata.version("torch")
    recorder.runs = True
    for name, step in run():
        recorder.operator = name
        with _limited():
            step()


def main(package: str, folder: Path, out: Path, chosen: Pass) -> None:
    """Record what ``package`` launches."""
    tri.compat.triton.install()
    from integration.published.guards import guarded
    from integration.strangers.recorder import Recorder

    sys.path.append(str(folder))
    sources: dict[str, Callable[[Path, Any], None]] = {
        CASES: _cases, CODE: _code, INDUCTOR: _inductor, OWN: _own
    }  # fmt: skip
    try:
        version = "" if package in sources else importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        sys.stderr.write(f"{package} is not installed in {folder}\n")
        return
    with out.open("w") as file:
        recorder = Recorder(
            package, version, heard=lambda kernel: print(json.dumps(asdict(kernel)), file=file, flush=True)
        )
        with guarded("cpu"), _varied(chosen), recorder.listening():
            if package in sources:
                sources[package](folder, recorder)
            else:
                _operators(package, folder, recorder, chosen)
    sys.stderr.writelines(f"not recorded, {n} times: {why}\n" for why, n in recorder.skipped.most_common(20))


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]).resolve(), Path(sys.argv[3]), PASSES[int(sys.argv[4])])
