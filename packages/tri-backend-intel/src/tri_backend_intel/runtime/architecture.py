"""Architecture of a GPU, by its PCI device id."""

from __future__ import annotations

from collections.abc import Sequence

__all__ = ["architecture_of", "devices_like"]

#: PCI device ids, both ends included -> architecture (the lists are in Linux' intel/pciids.h)
_PCI: tuple[tuple[int, int, str], ...] = (
    (0x0B69, 0x0B6E, "pvc"),
    (0x0BD0, 0x0BE5, "pvc"),
    (0x4600, 0x46FF, "xe-lp"),
    (0x4905, 0x4909, "xe-lp"),
    (0x4C80, 0x4C9A, "xe-lp"),
    (0x4F80, 0x4F88, "dg2"),
    (0x5690, 0x56C2, "dg2"),
    (0x6420, 0x64B0, "lnl"),
    (0x7D51, 0x7D51, "arl-h"),
    (0x7DD1, 0x7DD1, "arl-h"),
    (0x7D40, 0x7DD5, "mtl"),
    (0x9A40, 0x9AFF, "xe-lp"),
    (0xA700, 0xA7FF, "xe-lp"),
    (0xB080, 0xB0BF, "ptl"),
    (0xB640, 0xB640, "mtl"),
    (0xE200, 0xE22F, "bmg"),
    (0xFD80, 0xFD81, "ptl"),
)
#: a GPU that is not listed, by whether it has sub-groups of 8
_UNLISTED = {True: "xe-lp", False: "ptl"}


def architecture_of(device_id: int, sub_group_sizes: Sequence[int]) -> str:
    """The architecture of PCI device ``device_id``; of an unlisted GPU, the nearest that it can run."""
    for first, last, name in _PCI:
        if first <= device_id <= last:
            return name
    return _UNLISTED[8 in sub_group_sizes]


def devices_like(arch: str) -> tuple[tuple[tuple[int, int, bool], ...], bool]:
    """Ranges of PCI ids, of which the first with an id says whether it is ``arch``; whether an unlisted GPU may be."""
    return tuple((first, last, name == arch) for first, last, name in _PCI), arch in _UNLISTED.values()
