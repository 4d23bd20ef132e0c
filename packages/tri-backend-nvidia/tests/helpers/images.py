"""Images for the fake driver."""

from __future__ import annotations

from tri_core.api import (
    KernelImage,
    KernelMetadata,
    KernelSignature,
    Parameter,
    TargetKey,
)

PARAMETERS = (Parameter("x", "*fp32"), Parameter("n", "i32"), Parameter("s", "fp32"))


def image(arch="sm_90a", options=(), **given):
    metadata = KernelMetadata(
        name="k", target=TargetKey("nvidia", arch), signature=KernelSignature(name="k", parameters=PARAMETERS),
        options=dict(options), threads_per_warp=32, **given,
    )  # fmt: skip
    return KernelImage(kind="cubin", data=b"\x7fELF", metadata=metadata)


def ready(runtime, **given):
    made = image(**given)
    kernel = runtime.load(made, runtime.current_device())
    return kernel, runtime.launcher(kernel, made)
