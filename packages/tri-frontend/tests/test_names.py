"""Names of parameters: whatever Python allows, no generated code confuses them with its own."""

from __future__ import annotations

import builtins
import keyword
import linecache
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

import tri
import tri.language as tl

#: names that generated code, launches, options or the language itself use
_OURS = (
    *(f"{stem}{i}" for stem in ("v", "f", "_v", "_f", "__f", "readers", "_readers", "default", "_default") for i in range(3)),
    "type", "int", "fact", "static_fact", "_type", "_int", "_fact", "options", "_options", "bind", "_bind", "binder",
    "self", "cls", "args", "kwargs", "grid", "warmup", "stream", "num_warps", "num_stages", "debug", "names", "_", "__",
    "_tri_", "_tri_function_", "_outer", "tri", "tl", "Z", "match", "case", "kernel", "arg0", "shape", "x_ptr",
)  # fmt: skip
_BUILTINS = tuple(name for name in dir(builtins) if name.isidentifier() and not keyword.iskeyword(name))


@st.composite
def _identifiers(draw: st.DrawFn) -> str:
    """An identifier of any script, as a parser normalizes it."""
    import unicodedata

    text = draw(
        st.text(st.characters(codec="utf-8", categories=("L", "N", "Pc", "Mn")), min_size=1, max_size=8)
    )
    name = unicodedata.normalize("NFKC", text)
    assume(name.isidentifier() and not keyword.iskeyword(name) and name != "__debug__")
    return name


_names = st.one_of(
    st.sampled_from(_OURS),
    st.sampled_from(_BUILTINS).filter(lambda n: n != "__debug__"),
    st.from_regex(r"_{0,3}[vf][0-4]", fullmatch=True),
    _identifiers(),
)

#: loads, stores and adds by names that no parameter has
_TEMPLATE = """
def kernel({parameters}):
    tri_lang.store({pointer}, {total})
"""


def _made(names: Sequence[str], static: Sequence[bool], defaults: int) -> Any:
    """A kernel that stores a sum in which each argument but the first has a weight of its own."""
    shown = [n + (": tri_lang.constexpr" if s else "") for n, s in zip(names, [False, *static], strict=True)]
    first = len(names) - defaults
    shown = [f"{text} = {3 + i}" if i >= first else text for i, text in enumerate(shown)]
    total = " + ".join(f"{10**i} * {name}" for i, name in enumerate(names[1:]))
    text = _TEMPLATE.format(parameters=", ".join(shown), pointer=names[0], total=total)
    file = f"<kernel of {','.join(names)}>"
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    space: dict[str, Any] = {"tri_lang": tl, "__name__": __name__}
    exec(compile(text, file, "exec", dont_inherit=True), space)
    return tri.jit(space["kernel"])


@settings(
    max_examples=40,
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(st.data())
def test_no_name_of_a_parameter_matters(runtime: Any, data: st.DataObject) -> None:
    names = data.draw(
        st.lists(_names, min_size=3, max_size=5, unique=True).filter(lambda n: "tri_lang" not in n)
    )
    static = data.draw(st.lists(st.booleans(), min_size=len(names) - 1, max_size=len(names) - 1))
    defaults = data.draw(st.integers(0, len(names) - 1))
    kernel = _made(names, static, defaults)
    out = np.zeros(1, np.int32)
    values = [2 + i for i in range(len(names) - 1 - defaults)]
    everything = values + [3 + j for j in range(len(values) + 1, len(names))]
    passed = [out.ctypes.data, *(v for v, is_static in zip(everything, static, strict=True) if not is_static)]
    for launch in (kernel, tri.heuristics({})(kernel)):
        for args, kwargs in (([out, *values], {}), ([], dict(zip(names, [out, *values], strict=False)))):
            launch[(1,)](*args, **kwargs)
            assert list(runtime.launches[-1][3]) == passed
            with tri.interpret():
                launch[(1,)](*args, **kwargs)
            assert out[0] == sum(10**i * v for i, v in enumerate(everything))
            out[0] = 0


@pytest.mark.usefixtures("cpu")
@pytest.mark.parametrize("pair", [("v1", "v0"), ("f0", "type"), ("options", "readers1"), ("ядро", "_f0")])
def test_names_of_the_binder_are_its_own(pair: tuple[str, str]) -> None:
    kernel = _made([*pair, "Z"], [False, False], 0)
    out = np.zeros(1, np.int32)
    kernel[(1,)](out, 3, 5)
    assert out[0] == 53


@pytest.mark.usefixtures("cpu")
def test_grid_and_warmup_are_names_of_parameters() -> None:
    @tri.jit
    def kernel(out, grid, warmup, self):
        tl.store(out, grid + 10 * warmup + 100 * self + 1000 * tl.num_programs(0))

    tuned = tri.autotune([tri.Config({}), tri.Config({}, num_warps=2)], key=["grid"], deterministic=True)(
        kernel
    )
    for launch in (kernel, tri.heuristics({})(kernel), tuned):
        out = np.zeros(1, np.int32)
        launch[(4,)](out, grid=2, warmup=3, self=5)
        assert out[0] == 4532
        launch.warmup(out, grid=2, warmup=3, self=5)


@pytest.mark.usefixtures("cpu")
def test_private_names_of_a_class() -> None:
    class Owner:
        @tri.jit
        def kernel(__out, __value):  # noqa: PYI063  private names, not positional ones
            __twice = 2 * __value
            tl.store(__out, __twice)

    for interpreted in (False, True):
        out = np.zeros(1, np.int32)
        Owner.kernel.interpreted = interpreted
        Owner.kernel[(1,)](out, 4)
        assert out[0] == 8
