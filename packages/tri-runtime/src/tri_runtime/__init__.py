"""Common part of runtimes of all device kinds: handles, argument packing, limits, staging and benchmarking.

A backend's runtime implements :class:`tri_core.runtime.Runtime`; :class:`RuntimeBase` gives it every part
that does not depend on a driver.
"""

from __future__ import annotations

from tri_runtime.base import LaunchCheck, RuntimeBase
from tri_runtime.descriptors import DescriptorEncoder
from tri_runtime.handles import Buffer, Device, DeviceMemory, Event, Stream
from tri_runtime.limits import check_grid, check_resources, null_pointer
from tri_runtime.packing import ArgumentPool, ArgumentTable, PackedArguments, argument_table
from tri_runtime.parameters import check_arguments, check_parameters
from tri_runtime.process import ForkGuard
from tri_runtime.registry import runtime
from tri_runtime.staging import staged_copies
from tri_runtime.streams import check_stream_device, stream_handle_in_range

__all__ = [
    "ArgumentPool",
    "ArgumentTable",
    "Buffer",
    "DescriptorEncoder",
    "Device",
    "DeviceMemory",
    "Event",
    "ForkGuard",
    "LaunchCheck",
    "PackedArguments",
    "RuntimeBase",
    "Stream",
    "argument_table",
    "check_arguments",
    "check_grid",
    "check_parameters",
    "check_resources",
    "check_stream_device",
    "null_pointer",
    "runtime",
    "staged_copies",
    "stream_handle_in_range",
]
