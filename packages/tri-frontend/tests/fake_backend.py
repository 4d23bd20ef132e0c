"""A backend whose kernels only record their launches: a plugin module, and what it has seen."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from tri_core.api import (
    Anchor,
    Argument,
    ArrayArgument,
    BackendInfo,
    CommonOptions,
    DeviceInfo,
    HostMemory,
    KernelABI,
    KernelImage,
    Launch,
    LoopEstimate,
    LoopEstimates,
    PassList,
    Pipeline,
    Stage,
    StageContext,
    StageResult,
    Target,
    TargetKey,
    TargetSpec,
    hookimpl,
)

TRI_PLUGIN_API = (1, 0)

SPEC = TargetSpec(
    min_dot_size=(1, 1, 16),
    dot_precisions=("ieee", "tf32"),
    dtypes=frozenset({"fp32", "fp16"}),
    max_tensor_numel=1 << 20,
)


@dataclass
class FakeRuntime:
    """Records every launch as (kernel name, grid, stream, arguments)."""

    device_kind: str = "fake"
    host_memory: HostMemory = "direct"
    fork_safe: bool = True
    launches: list[tuple[str, tuple[int, int, int], int | None, tuple[Argument, ...]]] = field(
        default_factory=list
    )
    loads: list[str] = field(default_factory=list)
    staged_arrays: list[ArrayArgument] = field(default_factory=list)
    host_array_remedy: str = "move it to the fake device"

    def devices(self) -> Sequence[DeviceInfo]:
        return [DeviceInfo("fake", 0, "one"), DeviceInfo("fake", 1, "one")]

    def current_device(self) -> DeviceInfo:
        return self.devices()[0]

    def set_device(self, index: int) -> None:
        pass

    def current_stream(self, device: DeviceInfo) -> int:
        return 0

    def load(self, image: KernelImage, device: DeviceInfo) -> Any:
        self.loads.append(f"{image.metadata.name}@{device.index}")
        return image

    def launcher(self, kernel: Any, image: KernelImage) -> Launch:
        def launch(grid: tuple[int, int, int], stream: int | None, args: Sequence[Argument]) -> None:
            self.launches.append((image.metadata.name, grid, stream, tuple(args)))

        return launch

    @contextmanager
    def staged(self, arrays: Sequence[ArrayArgument]) -> Iterator[Sequence[Argument]]:
        self.staged_arrays.extend(arrays)
        yield [0xD000 + i for i in range(len(arrays))]

    def synchronize(self) -> None:
        pass

    def elapsed(self, function: Any) -> float:
        function()
        return 0.0


RUNTIME = FakeRuntime()
ABI = {"one": KernelABI(), "odd": KernelABI(divisibility=64, equal_to_one=False)}


@hookimpl
def tri_backends() -> list[BackendInfo]:
    return [BackendInfo(name="fake", device_kinds=("fake",), runtime="fake", architectures=("one", "odd"))]


@hookimpl
def tri_probe(backend: str) -> list[DeviceInfo]:
    return list(RUNTIME.devices())


@hookimpl
def tri_target(backend: str, key: TargetKey, device: DeviceInfo | None) -> Target:
    return Target(key=TargetKey("fake", key.arch or "one", key.features), spec=SPEC, device_kind="fake")


@hookimpl
def tri_abi(target: Target) -> KernelABI:
    return ABI[target.key.arch]


def _ttir(module: Any, context: StageContext) -> StageResult:
    return StageResult(artifact=module)


#: what the image of ``odd`` says: two warps run a partition beside the four that are asked for
_ODD = {
    "remarks": ["path: [odd], as asked"],
    "schedule": "one after another",
    "total_num_warps": 6,
    "threads_per_warp": 32,
}


def _image(module: Any, context: StageContext) -> StageResult:
    odd = context.target.key.arch == "odd"
    return StageResult(
        artifact=str(module).encode(),
        entry_points=(context.kernel_name,),
        attrs=_ODD if odd else {},
    )


@hookimpl
def tri_pipeline(target: Target, options: CommonOptions) -> Pipeline:
    passes = PassList([Anchor("ttir.begin"), Anchor("ttir.end")])
    return Pipeline(
        stages=(
            Stage(name="ttir", kind="module", run=_ttir, passes=passes),
            Stage(name="image", kind="bytes", run=_image, final=True),
        )
    )


@hookimpl
def tri_loop_estimates(target: Target, asm: Mapping[str, str | bytes]) -> LoopEstimates:
    """A loop for ``odd``, as long as the image."""
    if target.key.arch != "odd":
        return LoopEstimates()
    loop = LoopEstimate(
        name="L<1>",
        stage="image",
        line=7,
        instructions=len(asm["image"]),
        cycles=12.4,
        busy={"adder": 0.5},
        spent={"sums": 8.0, "waits": 0.2},
    )
    return LoopEstimates(loops=(loop,), assumptions=("sums take 8 cycles", "nothing else runs"))


@hookimpl
def tri_runtime(device_kind: str) -> FakeRuntime:
    return RUNTIME
