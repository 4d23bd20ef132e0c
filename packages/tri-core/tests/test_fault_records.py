"""Records of assertions: what is read of one, and what of none."""

from __future__ import annotations

import ctypes
import struct

from tri_core.api import HiddenParameters
from tri_core.fault_records import ASSERTIONS, RECORD_BYTES, Site, Watched, sites_of

SITES = sites_of({ASSERTIONS: [["x is negative", __file__, 3], ["y is negative", __file__, 5]]})


def watched() -> tuple[Watched, ctypes.Array[ctypes.c_char]]:
    memory = ctypes.create_string_buffer(RECORD_BYTES)
    return Watched("k", SITES, ctypes.addressof(memory)), memory


def test_a_record_names_the_assertion_and_who_failed() -> None:
    one, memory = watched()
    memory[:12] = struct.pack("<IIHH", 2 | 37 << 16, 1234, 6, 1)
    fault = one.fault("the driver's words", "do so")
    assert fault is not None
    assert fault.message == (
        "device-side assertion failed in kernel 'k': y is negative (program (1234, 5, 0), thread 37; the driver's words)"
    )
    assert (fault.program, fault.thread, fault.kernel) == ((1234, 5, 0), 37, "k")
    assert fault.location is not None
    assert str(fault.location).startswith(f"{__file__}:5:1\n    import ctypes")
    one.clear()
    assert one.fault("", "") is None


def test_what_is_no_site_is_no_failure() -> None:
    one, memory = watched()
    memory[:4] = struct.pack("<I", 3)
    assert one.fault("", "") is None
    assert sites_of({}) == sites_of({ASSERTIONS: None}) == ()
    assert SITES[0] == Site("x is negative", __file__, 3)


def test_the_slot_is_the_last_plain_parameter() -> None:
    hidden = HiddenParameters(grid=True, scratch=64, record=True)
    assert [p.name for p in hidden.parameters][-2:] == ["scratch", "record"]
    assert HiddenParameters.from_attrs(hidden.to_attrs()) == hidden
