"""Text that nests deeper than a stack: an error with a place, never the end of the process."""

from __future__ import annotations

import subprocess
import sys
import textwrap

import pytest

from tri_core import mlir
from tri_core.dialects import tt
from tri_core.errors import VerificationError
from tri_core.text import parse_module
from tri_core.text.depth import MOST, check_depth


def regions(depth: int) -> str:
    inner = "scf.if %c { " * depth + "} " * depth
    return f"tt.func public @k(%c: i1) {{ {inner} tt.return }}"


NESTED = {
    "regions": regions,
    "types": lambda n: (
        "tt.func public @k() { %x = ub.poison : " + "tuple<" * n + "i32" + ">" * n + " tt.return }"
    ),
    "attributes": lambda n: "module attributes {a = " + "[" * n + "]" * n + "} {}",
    "dictionaries": lambda n: "module attributes {a = " + "{a = " * n + "1" + "}" * n + "} {}",
    "locations": lambda n: "module {} loc(" + 'callsite("a" at ' * n + '"b"' + ")" * n + ")",
    "fused locations": lambda n: "module {} loc(" + "fused[" * n + '"b"' + "]" * n + ")",
    "functions": lambda n: "func.func private @f() -> (" + "() -> (" * n + "i32" + ")" * n + ")",
    "unclosed": lambda n: "module attributes {a = " + "[" * n,
}

#: reads each text in a process of its own, since what is tested for ends it
READ = """
    import sys
    from tri_core import mlir
    from tri_core.dialects import tt
    from tri_core.errors import VerificationError
    from tri_core.text import parse_module
    mlir.registry.add_dialect(tt.TT)
    text = sys.stdin.read()
    with mlir.session():
        for read in (parse_module, mlir.parse):
            try:
                read(text)
            except VerificationError as error:
                assert "nests more than" in error.message, error
            else:
                print("read")
    print("alive")
"""


@pytest.mark.parametrize("kind", NESTED)
def test_deep_text_is_refused(kind: str) -> None:
    command = [sys.executable, "-c", textwrap.dedent(READ)]
    text = NESTED[kind](20_000)
    done = subprocess.run(command, input=text, capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stdout) == (0, "alive\n"), done.stderr[-1000:]


def test_the_error_says_where() -> None:
    text = "module {\n" + "// ((((((\n" * 500 + "} loc(" + "fused[" * 500
    with pytest.raises(VerificationError) as caught:
        check_depth(text, "deep.ttir")
    assert caught.value.location is not None
    assert (caught.value.location.file, caught.value.location.line) == ("deep.ttir", 502)
    assert caught.value.remedy


def test_wide_text_is_none_of_it() -> None:
    """Brackets in strings and comments, arrows, and many beside each other."""
    text = "(){}<>[]" * 5000 + '"((((\\"((((" ' * 500 + "// {{{{\n" * 500 + "-> " * 5000
    check_depth(text)


@pytest.mark.parametrize("thread", [False, True])
def test_what_is_allowed_is_read_and_compiled_on(thread: bool) -> None:
    """As deep as it may be: parsing, verifying, printing and passes come through, in a thread too."""
    script = f"""
        import threading
        from tri_core import mlir
        from tri_core.dialects import tt
        from tri_core.text import parse_module, print_module
        mlir.registry.add_dialect(tt.TT)
        def work():
            with mlir.session():
                module = parse_module({regions(MOST - 3)!r})
                mlir.verify(module)
                print_module(module)
                mlir.run_passes(module, "canonicalize,cse")
                print("done")
        if {thread}:
            made = threading.Thread(target=work)
            made.start()
            made.join()
        else:
            work()
    """
    command = [sys.executable, "-c", textwrap.dedent(script)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stdout) == (0, "done\n"), done.stderr[-1000:]


def test_regions_nest_in_the_reader() -> None:
    mlir.registry.add_dialect(tt.TT)
    with mlir.session():
        assert str(parse_module(regions(100))).count("scf.if") == 100
