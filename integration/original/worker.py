"""Runs where the original is installed, and nothing of ours: one JSON job per line, one answer per line.

``{"do": "frontend", "source": ..., "constants": ..., "signature": ..., "attributes": ..., "arch": 90}``
answers with the TTIR before any pass; ``{"do": "compile", "ttir": ..., "options": ..., "arch": 90}`` with
the size of the cubin.  An answer has ``error`` when the original refuses.
"""

from __future__ import annotations

import ast
import json
import linecache
import sys
import tempfile
from pathlib import Path
from typing import Any

import triton
import triton.language as tl
from triton._C.libtriton import ir
from triton.backends.compiler import GPUTarget
from triton.compiler.compiler import ASTSource, make_backend

FOLDER = Path(tempfile.mkdtemp(prefix="original-"))
counter = 0


def functions(source: dict[str, Any]) -> list[Any]:
    """The jit functions of a portable source."""
    global counter
    spaces: list[dict[str, Any]] = []
    made = []
    for one in source["functions"]:
        counter += 1
        path = FOLDER / f"f{counter}.py"
        path.write_text(one["src"])
        linecache.checkcache(str(path))
        space: dict[str, Any] = {"__name__": f"portable{counter}"}
        exec(compile(one["src"], str(path), "exec"), space)
        made.append(triton.jit(space[one["name"]], noinline=one["noinline"] or None))
        spaces.append(space)
    for one, space in zip(source["functions"], spaces, strict=True):
        space.update({name: value(text, made) for name, text in one["globals"].items()})
    return made


def value(text: dict[str, Any], made: list[Any]) -> Any:
    """Value of a reference in this process."""
    ((kind, content),) = text.items()
    if kind == "function":
        return made[content]
    if kind == "module":
        __import__(content)
        return sys.modules[content]
    if kind == "attribute":
        return getattr(tl, NAMES.get(content, content))
    if kind == "constexpr":
        return tl.constexpr(value(content, made))
    if kind == "tuple":
        return tuple(value(item, made) for item in content)
    return eval(content, {"inf": float("inf"), "nan": float("nan")})


NAMES: dict[str, str] = {}


def frontend(job: dict[str, Any]) -> dict[str, Any]:
    """The TTIR that the original's frontend makes of a portable source."""
    made = functions(job["source"])
    return ttir(made[0], {name: value(text, made) for name, text in job["constants"].items()}, job)


def module(job: dict[str, Any]) -> dict[str, Any]:
    """The TTIR of the kernel ``k`` of a module's text, whose imports name us."""
    global counter
    counter += 1
    path = FOLDER / f"m{counter}.py"
    path.write_text(job["text"])
    space: dict[str, Any] = {"__name__": f"module{counter}"}
    sys.modules.update({"tri": triton, "tri.language": tl})
    for statement in ast.parse(job["text"]).body:
        code = compile(ast.Module([statement], []), str(path), "exec")
        try:
            exec(code, space)
        except Exception:  # a helper that the original refuses is missing, for the kernels that use it
            if getattr(statement, "name", "") == job["kernel"]:
                raise
    return ttir(space[job["kernel"]], job["constants"], job)


def ttir(kernel: Any, constants: dict[str, Any], job: dict[str, Any]) -> dict[str, Any]:
    """The TTIR of ``kernel`` for a job's signature, attributes and options."""
    names = kernel.arg_names
    attributes = {(names.index(n),): [list(fact) for fact in facts] for n, facts in job["attributes"].items()}
    target = GPUTarget("cuda", job["arch"], 32)
    backend = make_backend(target)
    options = backend.parse_options(job.get("options", {}))
    context = ir.context()
    ir.load_dialects(context)
    backend.load_dialects(context)
    source = ASTSource(kernel, job["signature"], constants, attributes)
    made = source.make_ir(
        target, options, backend.get_codegen_implementation(options), backend.get_module_map(), context
    )
    if not made.verify():
        raise ValueError("the module does not verify")
    return {"ttir": str(made)}


def compile_ttir(job: dict[str, Any]) -> dict[str, Any]:
    """The cubin of a text of ours."""
    with tempfile.NamedTemporaryFile("w", suffix=".ttir", dir=FOLDER) as file:
        file.write(job["ttir"])
        file.flush()
        made = triton.compile(
            file.name, target=GPUTarget("cuda", job["arch"], 32), options=job.get("options", {})
        )
    return {"cubin": len(made.asm["cubin"])}


JOBS = {"frontend": frontend, "module": module, "compile": compile_ttir}


def main() -> None:
    """Serve until the input ends."""
    answers = sys.stdout
    sys.stdout = sys.stderr
    for line in sys.stdin:
        job = json.loads(line)
        try:
            answer = JOBS[job["do"]](job)
        except BaseException as error:  # the original raises whatever it likes
            if isinstance(error, KeyboardInterrupt):
                raise
            cause = "" if error.__cause__ is None else f" [{error.__cause__!r}]"
            answer = {"error": f"{type(error).__name__}: {error}"[:4000] + cause[:400]}
        answers.write(json.dumps(answer) + "\n")
        answers.flush()


if __name__ == "__main__":
    main()
