"""Launches without Python: calls that a kernel has seen before go from Python's call to the driver's in compiled code.

:class:`FastLaunches` is the callable; see ``docs/design/runtime.md``.
"""

from __future__ import annotations

from tri_runtime.native.arrays import Exchange, exchange_of
from tri_runtime.native.code import Entry as LaunchEntry
from tri_runtime.native.fast_launch import FastLaunches, available
from tri_runtime.native.records import (
    AnyItem,
    ArrayItem,
    BoolItem,
    Call,
    Captured,
    Condition,
    ConstantItem,
    EmptyList,
    Entry,
    FloatItem,
    IntItem,
    Item,
    Part,
    PartsItem,
    Pattern,
    Variable,
    table_of,
)

__all__ = [
    "AnyItem",
    "ArrayItem",
    "BoolItem",
    "Call",
    "Captured",
    "Condition",
    "ConstantItem",
    "EmptyList",
    "Entry",
    "Exchange",
    "FastLaunches",
    "FloatItem",
    "IntItem",
    "Item",
    "LaunchEntry",
    "Part",
    "PartsItem",
    "Pattern",
    "Variable",
    "available",
    "exchange_of",
    "table_of",
]
