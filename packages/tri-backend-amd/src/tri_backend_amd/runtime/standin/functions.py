"""The functions of ``libamdhip64`` that the stand-in has, with the types of their arguments as ``hip_runtime_api.h`` has them."""

from __future__ import annotations

from ctypes import c_int32, c_size_t, c_uint32, c_void_p

__all__ = ["FUNCTIONS", "TEXTS"]

_P, _I, _U, _N = c_void_p, c_int32, c_uint32, c_size_t

#: name -> types of its arguments; each gives a ``hipError_t``
FUNCTIONS: dict[str, tuple[type, ...]] = {
    "hipInit": (_U,),
    "hipRuntimeGetVersion": (_P,),
    "hipDriverGetVersion": (_P,),
    "hipGetDeviceCount": (_P,),
    "hipGetDevice": (_P,),
    "hipSetDevice": (_I,),
    "hipGetDevicePropertiesR0600": (_P, _I),
    "hipDeviceSynchronize": (),
    "hipGetLastError": (),
    "hipMalloc": (_P, _N),
    "hipFree": (_P,),
    "hipMemcpy": (_P, _P, _N, _I),
    "hipMemcpyAsync": (_P, _P, _N, _I, _P),
    "hipMemset": (_P, _I, _N),
    "hipMemsetAsync": (_P, _I, _N, _P),
    "hipStreamCreate": (_P,),
    "hipStreamCreateWithFlags": (_P, _U),
    "hipStreamDestroy": (_P,),
    "hipStreamSynchronize": (_P,),
    "hipStreamQuery": (_P,),
    "hipStreamWaitEvent": (_P, _P, _U),
    "hipStreamGetDevice": (_P, _P),
    "hipStreamBeginCapture": (_P, _I),
    "hipStreamIsCapturing": (_P, _P),
    "hipStreamEndCapture": (_P, _P),
    "hipGraphInstantiate": (_P, _P, _P, _P, _N),
    "hipGraphLaunch": (_P, _P),
    "hipGraphDestroy": (_P,),
    "hipGraphExecDestroy": (_P,),
    "hipEventCreate": (_P,),
    "hipEventCreateWithFlags": (_P, _U),
    "hipEventDestroy": (_P,),
    "hipEventRecord": (_P, _P),
    "hipEventQuery": (_P,),
    "hipEventSynchronize": (_P,),
    "hipEventElapsedTime": (_P, _P, _P),
    "hipModuleLoadData": (_P, _P),
    "hipModuleUnload": (_P,),
    "hipModuleGetFunction": (_P, _P, _P),
    "hipModuleLaunchKernel": (_P, _U, _U, _U, _U, _U, _U, _U, _P, _P, _P),
}
#: functions of an error, each of which gives a text
TEXTS = ("hipGetErrorName", "hipGetErrorString")
