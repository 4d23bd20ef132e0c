"""Parameters may have every name that Python allows, given by position and by name."""

from __future__ import annotations

import importlib.util
import keyword
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import tri
from tri.launch.binder import make_binder

#: names that our own code has near those of users, builtins, and names that few would choose
POOL = [
    "v0", "v1", "f0", "f1", "readers0", "default1", "type", "int", "static_fact", "bind", "options", "self", "cls", "fn",
    "grid", "warmup", "stream", "args", "kwargs", "arg_names", "kernel", "launch", "range", "print", "None_", "_", "__x",
    "__class__", "__init__", "np", "module", "ptr", "i32", "main", "malloc", "expf", "ret", "llvm", "µ", "ﬁ", "变量", "é",
    "a" * 200,
]  # fmt: skip

SOURCE = """
import tri as tri__
import tri.language as tl__

@tri__.jit
def kernel__({first}, {second}, {third}={default}, *, {fourth}: tl__.constexpr = 7):
    tl__.store({third}, {first})
    tl__.store({third} + 1, {second} + {fourth})
"""

identifiers = st.one_of(
    st.sampled_from(POOL),
    st.from_regex(r"[a-z_][a-z0-9_]{0,8}", fullmatch=True),
    st.text(st.characters(categories=["Lu", "Ll", "Lo", "Nl"]), min_size=1, max_size=4),
).filter(lambda name: name.isidentifier() and not keyword.iskeyword(name) and not name.endswith("__a"))


def made(folder: Path, names: list[str], default: str = "None") -> Any:
    """A kernel whose parameters have ``names``."""
    parts = dict(zip(("first", "second", "third", "fourth"), names, strict=True))
    path = folder / "named.py"
    path.write_text(SOURCE.format(**parts, default=default), encoding="utf-8")
    spec = importlib.util.spec_from_file_location("named", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.kernel__


def distinct(names: list[str]) -> bool:
    """True if Python takes them for different names: it normalises them."""
    try:
        compile(f"def f({', '.join(names)}): pass", "<names>", "exec")
    except SyntaxError:
        return False
    return True


@settings(max_examples=100, deadline=None, suppress_health_check=list(HealthCheck))
@given(names=st.lists(identifiers, min_size=4, max_size=4).filter(distinct))
def test_the_binder_reads_what_was_given(names: list[str], tmp_path_factory: pytest.TempPathFactory) -> None:
    kernel = made(tmp_path_factory.mktemp("named"), names)
    bind = make_binder(kernel, 16, True)
    by_position = bind(3, 5, None, num_warps=2)
    by_name = bind(**dict(zip(kernel.arg_names, (3, 5, None, 7), strict=True)), num_warps=2)
    assert by_position[1][:2] == by_name[1][:2] == (3, 5)
    assert by_position[0] == by_name[0]
    assert by_position[2] == by_name[2] == {"num_warps": 2}


@pytest.mark.parametrize("interpreted", [False, True], ids=["compiled", "interpreted"])
@pytest.mark.parametrize(
    "names", [POOL[i : i + 4] for i in range(0, len(POOL) - 3, 3)], ids=lambda names: names[0]
)
def test_launches(names: list[str], interpreted: bool, tmp_path: Path) -> None:
    kernel = made(tmp_path, names)
    with tri.interpret() if interpreted else tri.target("cpu"):
        for by_name in (False, True):
            out = np.zeros(2, np.int32)
            if by_name:
                kernel[(1,)](**dict(zip(kernel.arg_names, (3, 5, out, 1), strict=True)))
            else:
                kernel[(1,)](3, 5, out, **{kernel.arg_names[3]: 1})
            assert out.tolist() == [3, 6]


@pytest.mark.parametrize("name", ["grid", "warmup", "self"])
def test_wrappers(name: str, tmp_path: Path) -> None:
    kernel = made(tmp_path, ["first", name, "third", "fourth"])
    for wrapped in (
        tri.heuristics({"fourth": lambda given: 2})(kernel),
        tri.autotune([tri.Config({"fourth": 2})], key=[])(kernel),
    ):
        out = np.zeros(2, np.int32)
        wrapped[(1,)](first=3, third=out, **{name: 5})
        assert out.tolist() == [3, 7]
