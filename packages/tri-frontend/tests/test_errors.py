"""What is said about wrong kernels: class, message, remedy, place."""

from __future__ import annotations

import importlib.util
import pickle
import sys
from pathlib import Path
from types import ModuleType

import pytest

from tri.compiler.source import ASTSource
from tri_core.errors import CompilationError, TriError
from tri_core.mlir import session
from tri_core.target_selection import resolve


def load(name: str, file: str) -> ModuleType:
    """A module of cases next to this file."""
    spec = importlib.util.spec_from_file_location(name, Path(__file__).parent / file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


error_cases = load("tri_error_cases", "error_cases.py")
CASES = [*error_cases.CASES, *load("tri_error_cases_python", "error_cases_python.py").CASES]


def kernel_text(body: str) -> str:
    parameters = ", ".join(
        f"{n}: tl.constexpr" if t == "constexpr" else n for n, t in error_cases.SIGNATURE.items()
    )
    indented = "".join(f"    {line}\n" for line in body.split("\n"))
    return f"{error_cases.HELPERS}\n@tri.jit\ndef k({parameters}):\n{indented}"


def build(module) -> None:
    target = resolve("fake:one")
    with session():
        ASTSource(module.k, error_cases.SIGNATURE, {"B": 16}).build(target, target.options_type())


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.body)
def test_error(kernel_file, case):
    module = kernel_file(kernel_text(case.body))
    with pytest.raises(TriError) as caught:
        build(module)
    error = caught.value
    assert type(error) is case.error
    assert error.message == case.message
    assert error.remedy == case.remedy
    location = error.location
    assert location.file == module.__file__
    line = Path(location.file).read_text().splitlines()[location.line - 1]
    assert location.source_line == line
    assert line[location.column :] == case.at


@pytest.mark.parametrize(
    ("body", "start"),
    [
        ("x = 1 // 0", "the constexpr 1 // the constexpr 0: "),
        ('x = "a" + 1', "the constexpr 'a' + the constexpr 1: "),
        ("x = (n, f)[2]", "(int32, fp32)[the constexpr 2]: "),
        ("x = len(n)", "len raised TypeError: "),
        ("x = Pair(n)", "Pair raised TypeError: "),
        ("for i in tl.range(n, stages=2):\n    pass", "range: "),
        ("while tl.condition(n > 0, licm=False):\n    n -= 1", "condition: "),
        ("x = max()", "max: "),
        ("x = n.shape[0]", "()[the constexpr 0]: "),
        ("x = tl.reduce(tl.arange(0, 16), 0, tl.maximum)", "the combine function is <function maximum"),
        ("x = {i: i for i in (1, 2)}", "kernels cannot use this syntax (DictComp)"),
    ],
)
def test_error_in_python_s_words(kernel_file, body, start):
    with pytest.raises(CompilationError) as caught:
        build(kernel_file(kernel_text(body)))
    assert caught.value.message.startswith(start)
    assert caught.value.location is not None


def test_error_text_shows_line_caret_and_calls(kernel_file):
    module = kernel_file(kernel_text("x = bad(n)"))
    with pytest.raises(CompilationError) as caught:
        build(module)
    assert (
        str(caught.value)
        == f"""invalid operands of type fp32 to operator &
  at {module.__file__}:19:12
        return y & 3
               ^
  called from {module.__file__}:66:9
        x = bad(n)
            ^
  remedy: cast to an integer, or bitcast"""
    )


def test_error_in_the_library_is_located_at_the_call(kernel_file):
    module = kernel_file(kernel_text("x = tl.sum(n)"))
    with pytest.raises(CompilationError) as caught:
        build(module)
    assert caught.value.location.file == module.__file__
    assert caught.value.location.call_sites == ()


def test_columns_count_characters(kernel_file):
    module = kernel_file(kernel_text('x = "äöü" if B else n.nope'))
    assert build(module) is None
    module = kernel_file(kernel_text('x = ("äöü", n.nope)'))
    with pytest.raises(CompilationError) as caught:
        build(module)
    assert caught.value.location.source_line[caught.value.location.column :] == "n.nope)"


def test_source_that_cannot_be_read():
    import tri

    namespace = {}
    exec("def k(p):\n    pass", namespace)
    with pytest.raises(CompilationError, match="the source of k cannot be read"):
        _ = tri.jit(namespace["k"]).cache_key
    with pytest.raises(CompilationError, match=r"not defined with def|not a function"):
        _ = tri.jit(lambda p: p).cache_key


@pytest.mark.parametrize(
    ("signature", "constants", "message"),
    [
        ({"p": "*fp32"}, {"zz": 3}, "'zz' names no parameter of k"),
        ({7: "*fp32"}, {}, "7 names no parameter of k"),
        ({"p": "*fp33"}, {}, "parameter 'p' of k: 'fp33' is not a type"),
        ({"p": "*fp32"}, {}, "parameter 'n' has neither a type in the signature nor a constexpr value"),
    ],
)
def test_wrong_signatures(kernel_file, signature, constants, message):
    module = kernel_file("@tri.jit\ndef k(p, n):\n    pass\n")
    target = resolve("fake:one")
    with pytest.raises(CompilationError) as caught, session():
        ASTSource(module.k, signature, constants).build(target, target.options_type())
    assert caught.value.message.startswith(message)


SEVERAL = """x = tl.arange(0, 12)
y = x + 1
for i in range(n):
    w = tl.zeros([24], tl.float32)
    y = w
if n > 0:
    y = 3.0
tl.store(p, y + w)
tl.store(n, 1)"""


def test_independent_errors_are_reported_together(kernel_file):
    module = kernel_file(kernel_text(SEVERAL))
    with pytest.raises(CompilationError) as caught:
        build(module)
    assert caught.value.message == "arange's range must be a power of 2"
    assert [note.splitlines()[0] for note in caught.value.__notes__] == [
        "another error: Shape element 0 must be a power of 2",
        "another error: store needs a pointer or a block of pointers, got int32",
    ]
    # they are about the user's lines, and survive a worker process
    assert "tl.zeros([24], tl.float32)" in caught.value.__notes__[0]
    assert pickle.loads(pickle.dumps(caught.value)).__notes__ == caught.value.__notes__


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.body)
def test_an_error_stays_the_first(kernel_file, case):
    """What is generated after an error never hides it, and never fails in a way of its own."""
    later = "z = tl.arange(0, 16)\nfor i in range(n):\n    z += i\nif n > 3:\n    z = z + 1\ntl.store(n, 1)"
    module = kernel_file(kernel_text(f"{case.body}\n{later}"))
    with pytest.raises(TriError) as caught:
        build(module)
    assert caught.value.message == case.message
    reported = [note.splitlines()[0] for note in getattr(caught.value, "__notes__", [])]
    assert not [line for line in reported if "report it" in line]
    assert set(reported) <= {"another error: store needs a pointer or a block of pointers, got int32"}
