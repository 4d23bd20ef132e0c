"""The compile driver: stages, caches, errors."""

from __future__ import annotations

import pickle

from tri_core.compiler import compile as compile_kernel
from tri_core.compiler import forget


def test_stages_run_once_and_are_kept(make_plugin, activate, source) -> None:
    candidate = make_plugin("toy", backend=True)
    activate(candidate)
    runs = candidate.load().RUNS
    kernel = compile_kernel(source(), "toy:one")
    assert runs == ["ttir", "text", "image"]
    assert list(kernel.asm) == ["ttir", "text", "image"]
    assert kernel.asm["text"].startswith("// kernel")
    assert kernel.image.data == kernel.asm["image"] == b"\x00\xff" + kernel.asm["text"].encode()
    assert compile_kernel(source(), "toy:one") is kernel
    forget()
    again = compile_kernel(source(), "toy:one")
    assert runs == ["ttir", "text", "image"]
    assert again is not kernel
    assert again.metadata == kernel.metadata
    assert dict(again.asm) == dict(kernel.asm)
    assert again.asm["listing"] == kernel.asm["listing"]
    thawed = pickle.loads(pickle.dumps(again))
    assert dict(thawed.asm) == dict(kernel.asm)
    assert thawed.image == kernel.image
