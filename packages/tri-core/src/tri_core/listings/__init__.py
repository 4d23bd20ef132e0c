"""Texts of stages whose lines know the source lines that they came from."""

from __future__ import annotations

from tri_core.listings.assembly import read_assembly
from tri_core.listings.inlining import Inlining
from tri_core.listings.llvm import read_llvm
from tri_core.listings.modules import read_module
from tri_core.listings.places import Listing, Place, plain
from tri_core.listings.reading import read_listing

__all__ = [
    "Inlining",
    "Listing",
    "Place",
    "plain",
    "read_assembly",
    "read_listing",
    "read_llvm",
    "read_module",
]
