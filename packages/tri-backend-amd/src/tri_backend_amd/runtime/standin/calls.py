"""The functions, by name: each gets the state and its arguments, and raises Refused for all that HIP answers with an error."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

from tri_backend_amd.processors import PROCESSORS
from tri_backend_amd.runtime.standin import programs
from tri_backend_amd.runtime.standin.errors import HipError, Refused
from tri_backend_amd.runtime.standin.state import Event, Graph, State, Stream, Work

__all__ = ["CALLS"]

CALLS: dict[str, Callable[..., None]] = {}
#: places in ``hipDeviceProp_t`` since HIP 6 (``hip_runtime_api.h``), of which the stand-in fills these
_PROPERTIES_SIZE = 1472
_PLACES: dict[str, tuple[int, type[Any]]] = {
    "memory": (288, ctypes.c_size_t),
    "lds": (296, ctypes.c_size_t),
    "wavefront": (308, ctypes.c_int),
    "threads": (320, ctypes.c_int),
    "units": (388, ctypes.c_int),
}
_NAME_PLACE, _ARCH_PLACE, _TEXT = 0, 1160, 256


def call(function: Callable[..., None]) -> Callable[..., None]:
    """Serve ``function`` under its own name, which is HIP's."""
    CALLS[function.__name__] = function
    return function


def _out(kind: type[Any], address: int | None, value: Any) -> None:
    if not address:
        raise Refused(HipError.INVALID_VALUE, "a place for the result is null")
    kind.from_address(address).value = value


def _any(work: Work) -> bool:
    del work
    return True


# --- devices ----------------------------------------------------------------------------------------------


@call
def hipInit(state: State, flags: int) -> None:
    del state, flags


@call
def hipRuntimeGetVersion(state: State, out: int | None) -> None:
    _out(ctypes.c_int, out, state.configuration.version)


CALLS["hipDriverGetVersion"] = hipRuntimeGetVersion


@call
def hipGetDeviceCount(state: State, out: int | None) -> None:
    _out(ctypes.c_int, out, len(state.devices))
    if not state.devices:
        raise Refused(HipError.NO_DEVICE, "there are no devices")


@call
def hipGetDevice(state: State, out: int | None) -> None:
    _out(ctypes.c_int, out, state.current.index)


@call
def hipSetDevice(state: State, index: int) -> None:
    state.make_current(index)


@call
def hipGetDevicePropertiesR0600(state: State, out: int | None, index: int) -> None:
    device = state.device(index)
    if not out:
        raise Refused(HipError.INVALID_VALUE, "a place for the result is null")
    family = device.configuration.family
    values = {
        "memory": device.configuration.memory,
        "lds": family.lds,
        "wavefront": family.wavefront,
        "threads": 1024,
        "units": 1,
    }
    ctypes.memset(out, 0, _PROPERTIES_SIZE)
    for name, (place, kind) in _PLACES.items():
        kind.from_address(out + place).value = values[name]
    title = f"{PROCESSORS[device.configuration.processor].title} (stand-in)"
    for place, text in ((_NAME_PLACE, title), (_ARCH_PLACE, device.configuration.arch)):
        data = text.encode()[: _TEXT - 1]
        ctypes.memmove(out + place, data, len(data))


@call
def hipDeviceSynchronize(state: State) -> None:
    state.current.finish(_any)


@call
def hipGetLastError(state: State) -> None:
    state.current.check()


# --- memory -----------------------------------------------------------------------------------------------


@call
def hipMalloc(state: State, out: int | None, nbytes: int) -> None:
    _out(ctypes.c_void_p, out, state.allocate(nbytes) if nbytes else None)


@call
def hipFree(state: State, address: int | None) -> None:
    if address:
        state.free(address)


@call
def hipMemcpyAsync(
    state: State, to: int | None, source: int | None, nbytes: int, kind: int, stream: int | None
) -> None:
    del kind
    if not nbytes:
        return
    target, given = state.bytes_at(to or 0, nbytes), state.bytes_at(source or 0, nbytes)
    if state.at(source or 0) is None:
        given = given.copy()  # of the host: HIP has it before the call returns

    def copy() -> None:
        target[:] = given

    found = state.stream(stream)
    found.device.enqueue(found, copy)


@call
def hipMemcpy(state: State, to: int | None, source: int | None, nbytes: int, kind: int) -> None:
    hipMemcpyAsync(state, to, source, nbytes, kind, None)
    state.current.finish(_any)


@call
def hipMemsetAsync(state: State, to: int | None, value: int, nbytes: int, stream: int | None) -> None:
    if not nbytes:
        return
    target = state.bytes_at(to or 0, nbytes)

    def fill() -> None:
        target[:] = value & 0xFF

    found = state.stream(stream)
    found.device.enqueue(found, fill)


@call
def hipMemset(state: State, to: int | None, value: int, nbytes: int) -> None:
    hipMemsetAsync(state, to, value, nbytes, None)
    state.current.finish(_any)


# --- streams and graphs -----------------------------------------------------------------------------------


@call
def hipStreamCreate(state: State, out: int | None) -> None:
    state.current.check()
    _out(ctypes.c_void_p, out, state.handle(Stream(state.current)))


@call
def hipStreamCreateWithFlags(state: State, out: int | None, flags: int) -> None:
    del flags
    hipStreamCreate(state, out)


@call
def hipStreamDestroy(state: State, stream: int | None) -> None:
    found = state.drop(Stream, stream)
    found.device.finish(lambda work: work.stream is found)


@call
def hipStreamSynchronize(state: State, stream: int | None) -> None:
    found = state.stream(stream)
    if found.captured is not None:
        raise Refused(HipError.STREAM_CAPTURE_UNSUPPORTED, "the stream is captured")
    found.device.finish(lambda work: work.stream is found)


@call
def hipStreamQuery(state: State, stream: int | None) -> None:
    found = state.stream(stream)
    found.device.check()
    if any(work.stream is found for work in found.device.queue):
        raise Refused(HipError.NOT_READY, "the stream has work")


@call
def hipStreamWaitEvent(state: State, stream: int | None, event: int | None, flags: int) -> None:
    del flags
    found, awaited = state.stream(stream), state.get(Event, event)
    mark = awaited.mark
    if mark is not None:
        found.device.enqueue(found, lambda: awaited.device.finish(lambda work: work is mark))


@call
def hipStreamGetDevice(state: State, stream: int | None, out: int | None) -> None:
    _out(ctypes.c_int, out, state.stream(stream).device.index)


@call
def hipStreamBeginCapture(state: State, stream: int | None, mode: int) -> None:
    del mode
    found = state.stream(stream)
    if not stream or found.captured is not None:
        raise Refused(HipError.STREAM_CAPTURE_UNSUPPORTED, "the stream is the default one, or captured")
    found.captured = []


@call
def hipStreamIsCapturing(state: State, stream: int | None, out: int | None) -> None:
    _out(ctypes.c_int, out, state.stream(stream).captured is not None)


@call
def hipStreamEndCapture(state: State, stream: int | None, out: int | None) -> None:
    found = state.stream(stream)
    if found.captured is None:
        raise Refused(HipError.STREAM_CAPTURE_UNMATCHED, "the stream is not captured")
    work, found.captured = tuple(found.captured), None
    _out(ctypes.c_void_p, out, state.handle(Graph(work)))


@call
def hipGraphInstantiate(
    state: State, out: int | None, graph: int | None, node: int | None, log: int | None, size: int
) -> None:
    del node, log, size
    _out(ctypes.c_void_p, out, state.handle(Graph(state.get(Graph, graph).work)))


@call
def hipGraphLaunch(state: State, graph: int | None, stream: int | None) -> None:
    found = state.stream(stream)
    for work in state.get(Graph, graph).work:
        found.device.enqueue(found, work)


@call
def hipGraphDestroy(state: State, graph: int | None) -> None:
    state.drop(Graph, graph)


CALLS["hipGraphExecDestroy"] = hipGraphDestroy


# --- events -----------------------------------------------------------------------------------------------


@call
def hipEventCreate(state: State, out: int | None) -> None:
    _out(ctypes.c_void_p, out, state.handle(Event(state.current)))


@call
def hipEventCreateWithFlags(state: State, out: int | None, flags: int) -> None:
    del flags
    hipEventCreate(state, out)


@call
def hipEventDestroy(state: State, event: int | None) -> None:
    state.drop(Event, event)


@call
def hipEventRecord(state: State, event: int | None, stream: int | None) -> None:
    found, on = state.get(Event, event), state.stream(stream)
    if found.device is not on.device:
        raise Refused(HipError.INVALID_HANDLE, "the event is of another device than the stream")

    def reach() -> None:
        found.at, found.mark = state.seconds(), None

    found.at = None
    found.mark = on.device.enqueue(on, reach)


@call
def hipEventQuery(state: State, event: int | None) -> None:
    found = state.get(Event, event)
    found.device.check()
    if found.mark is not None:
        raise Refused(HipError.NOT_READY, "the event is not reached")


@call
def hipEventSynchronize(state: State, event: int | None) -> None:
    found = state.get(Event, event)
    mark = found.mark
    found.device.finish(lambda work: work is mark)


@call
def hipEventElapsedTime(state: State, out: int | None, begin: int | None, end: int | None) -> None:
    first, last = state.get(Event, begin), state.get(Event, end)
    if first.mark is not None or last.mark is not None:
        raise Refused(HipError.NOT_READY, "an event is not reached")
    if first.at is None or last.at is None:
        raise Refused(HipError.INVALID_HANDLE, "an event was never recorded")
    _out(ctypes.c_float, out, 1e3 * (last.at - first.at))


# --- modules ----------------------------------------------------------------------------------------------


@call
def hipModuleLoadData(state: State, out: int | None, image: int | None) -> None:
    if not image:
        raise Refused(HipError.INVALID_VALUE, "the image is null")
    _out(ctypes.c_void_p, out, state.handle(programs.load(state.current, image)))


@call
def hipModuleUnload(state: State, module: int | None) -> None:
    state.drop(programs.Module, module)


@call
def hipModuleGetFunction(state: State, out: int | None, module: int | None, name: int | None) -> None:
    found = state.get(programs.Module, module)
    asked = ctypes.string_at(name or 0).decode(errors="replace")
    record = found.code.kernels.get(asked)
    if record is None:
        raise Refused(HipError.NOT_FOUND, f"the module has no kernel {asked}")
    _out(ctypes.c_void_p, out, state.handle(programs.Function(found, record)))


@call
def hipModuleLaunchKernel(state: State, function: int | None, *rest: Any) -> None:
    *extents, shared, stream, parameters, extra = rest
    del shared
    found, on = state.get(programs.Function, function), state.stream(stream)
    if on.device is not found.module.device:
        raise Refused(HipError.INVALID_HANDLE, "the stream is of another device than the module")
    x, y, z, bx, by, bz = extents
    programs.check_launch(found, (x, y, z), (bx, by, bz))
    arguments = programs.arguments_at(found, parameters, extra)
    on.device.enqueue(on, lambda: programs.run(state, found, (x, y, z), arguments))
