"""The AMD processors and their families as data.

Sources: LLVM's "User Guide for AMDGPU Backend" (processors, target ids, code object format), its AMDGPU target
(``AMDGPU.td``, ``AMDGPUBaseInfo.cpp``: registers of a SIMD, features), and AMD's instruction set guides of CDNA2, CDNA3,
CDNA4, RDNA2, RDNA3 and RDNA4.
"""

from __future__ import annotations

from tri_core.lazy_dataclasses import dataclass

__all__ = ["DEVICE_KIND", "FAMILIES", "GONE", "PROCESSORS", "Family", "Processor", "versions"]

#: the kind of their devices
DEVICE_KIND = "hip"


@dataclass(frozen=True, kw_only=True)
class Family:
    """Properties that all processors of a family share.

    ``wavefront``: work items of one; ``waves``: wavefronts per SIMD at most; ``vgprs`` per work item; ``lds`` bytes per
    work group in ``banks``; ``matrix`` the name of the matrix unit's instructions and ``version`` their generation
    (:mod:`.mfma.forms`, :mod:`.wmma.forms`); ``modes`` the features of which a target says that they are on or off.
    """

    name: str
    wavefront: int
    waves: int
    vgprs: int
    lds: int = 65536
    banks: int = 32
    matrix: str = ""
    version: int = 0
    modes: frozenset[str] = frozenset()


@dataclass(frozen=True, kw_only=True)
class Processor:
    """One processor: ``machine`` is its number in the ELF header's flags; ``wide`` of RDNA with half as many registers again."""

    name: str
    title: str
    family: str
    machine: int
    wide: bool = False


_MODES = frozenset(("sramecc", "xnack"))


def _gfx9(
    name: str, version: int = 0, *, waves: int = 8, vgprs: int = 512, lds: int = 65536, banks: int = 32
) -> Family:
    return Family(
        name=name, wavefront=64, waves=waves, vgprs=vgprs, lds=lds, banks=banks,
        matrix="mfma" if version else "", version=version, modes=_MODES,
    )  # fmt: skip


def _rdna(name: str, version: int = 0) -> Family:
    return Family(
        name=name, wavefront=32, waves=16, vgprs=256, matrix="wmma" if version else "", version=version
    )


FAMILIES: dict[str, Family] = {
    row.name: row
    for row in (
        _gfx9("gcn5", waves=10, vgprs=256),
        # accumulators have registers of their own, as many again
        _gfx9("cdna1", 1, waves=10, vgprs=256),
        _gfx9("cdna2", 2),
        _gfx9("cdna3", 3),
        _gfx9("cdna4", 4, lds=163840, banks=64),
        _rdna("rdna2"),
        _rdna("rdna3", 1),
        _rdna("rdna4", 2),
        Family(
            name="cdna5",
            wavefront=32,
            waves=16,
            vgprs=1024,
            lds=327680,
            banks=64,
            matrix="wmma",
            version=3,
            modes=_MODES,
        ),
    )
}


def _row(name: str, family: str, machine: int, title: str, *, wide: bool = False) -> Processor:
    return Processor(name=name, title=title, family=family, machine=machine, wide=wide)


PROCESSORS: dict[str, Processor] = {
    row.name: row
    for row in (
        _row("gfx906", "gcn5", 0x2F, "Instinct MI50 and MI60, Radeon VII"),
        _row("gfx908", "cdna1", 0x30, "Instinct MI100"),
        _row("gfx90a", "cdna2", 0x3F, "Instinct MI200"),
        _row("gfx942", "cdna3", 0x4C, "Instinct MI300"),
        _row("gfx950", "cdna4", 0x4F, "Instinct MI350"),
        _row("gfx1030", "rdna2", 0x36, "Radeon RX 6800 and 6900"),
        _row("gfx1100", "rdna3", 0x41, "Radeon RX 7900", wide=True),
        _row("gfx1101", "rdna3", 0x46, "Radeon RX 7700 and 7800", wide=True),
        _row("gfx1102", "rdna3", 0x47, "Radeon RX 7600"),
        _row("gfx1103", "rdna3", 0x44, "Radeon 780M"),
        _row("gfx1150", "rdna3", 0x43, "Radeon 890M"),
        _row("gfx1151", "rdna3", 0x4A, "Radeon 8060S", wide=True),
        _row("gfx1152", "rdna3", 0x55, "Radeon 860M"),
        _row("gfx1153", "rdna3", 0x58, "RDNA3.5 of small APUs"),
        _row("gfx1200", "rdna4", 0x48, "Radeon RX 9060", wide=True),
        _row("gfx1201", "rdna4", 0x4E, "Radeon RX 9070", wide=True),
        _row("gfx1250", "cdna5", 0x49, "Instinct MI450"),
    )
}

#: processors that LLVM had -> why it has them no more, and which one to compile for
GONE = dict.fromkeys(
    ("gfx940", "gfx941"), ("an early stepping of MI300, which LLVM no longer compiles for", "gfx942")
)


def versions(matrix: str) -> dict[str, int]:
    """Processor -> generation of its instructions of kind ``matrix`` (``"mfma"``, ``"wmma"``)."""
    families = {name: row.version for name, row in FAMILIES.items() if row.matrix == matrix}
    return {name: families[row.family] for name, row in PROCESSORS.items() if row.family in families}
