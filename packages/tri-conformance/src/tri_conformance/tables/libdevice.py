"""``tl.extra.libdevice``, name by name: arithmetic with a rounding mode, conversions, bits, elementary and special functions.

What is exact is held to exactness.  Other functions are held to the larger of two documented bounds, in ulp or absolute:
that of the library whose names these are (its vendor's programming guide, appendix on mathematical functions) and that of
the formulas of the language (docs/design/libdevice.md).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from tri.language.extra import libdevice
from tri.language.libdevice.table import SIGNATURES, Signature
from tri_conformance.dtypes import NUMPY
from tri_conformance.features import Feature, Point, Trial
from tri_conformance.kernels import functions as k
from tri_conformance.tables import libdevice_exact, libdevice_functions
from tri_conformance.tables.libdevice_rows import Entry

__all__ = ["ENTRIES", "FEATURES"]

COUNT = 128
_KERNELS = {1: k.of_one, 2: k.of_two, 3: k.of_three, 4: k.of_four}

ENTRIES: tuple[Entry, ...] = (*libdevice_exact.ENTRIES, *libdevice_functions.ENTRIES)


def _signatures(entry: Entry) -> dict[str, Signature]:
    """The signatures that the entry is about, by the type that tells them apart."""
    found = {}
    for operands, result in SIGNATURES[entry.name]:
        whole = tuple(i for i, o in enumerate(operands) if not o.is_floating())
        if entry.integers is None or whole == entry.integers:
            telling = next((o for o in operands if o.is_floating()), operands[0])
            found[telling.name] = (operands, result)
    return found


def _make(entry: Entry) -> Callable[[Point], Trial]:
    signatures = _signatures(entry)

    def make(point: Point) -> Trial:
        operands, result = signatures[point.dtype]
        drawn = entry.draw(point, [NUMPY[o.name] for o in operands])
        with np.errstate(all="ignore"):
            exact = np.asarray(entry.oracle(*drawn))
        out = np.full(point.count, 77).astype(NUMPY[result.name])
        if out.dtype.kind in "iu":
            exact = exact.astype(out.dtype)
        constants = {"F": getattr(libdevice, entry.name), "N": point.count}
        return Trial(arguments=[out, *drawn], exact={0: exact}, constants=constants)

    return make


def _features() -> Iterator[Feature]:
    for entry in ENTRIES:
        signatures = _signatures(entry)
        kinds = {kind.name for operands, result in signatures.values() for kind in (*operands, result)}
        yield Feature(
            name=entry.label or entry.name,
            group="libdevice",
            kernel=_KERNELS[len(next(iter(signatures.values()))[0])],
            make=_make(entry),
            dtypes=tuple(signatures),
            shapes=((COUNT,),),
            contract=entry.contract,
            contracts=entry.contracts,
            also=("fp64",) if entry.wide or ("fp64" in kinds and len(signatures) == 1) else (),
        )


FEATURES = tuple(_features())
