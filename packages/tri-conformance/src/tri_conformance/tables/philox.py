"""Philox4x32 as its authors define it (Salmon et al., SC 2011), and the numbers that are made of its words."""

from __future__ import annotations

import numpy as np

from tri_conformance.dtypes import Array

__all__ = ["normals_of", "uniforms_of", "words", "words_of"]

#: by the size of a word: two multipliers, what is added to the two words of the key each round
_CONSTANTS = {
    32: (0xD2511F53, 0xCD9E8D57, 0x9E3779B9, 0xBB67AE85),
    64: (0xD2E7470EE14C6C93, 0xCA5A826395121157, 0x9E3779B97F4A7C15, 0xBB67AE8584CAA73B),
}


def words(count: int, key: tuple[int, int], rounds: int = 10) -> Array:
    """The four words of the counters 0 to ``count`` - 1: uint32, (4, count)."""
    return np.array([words_of(i, 0, key, rounds) for i in range(count)], np.uint32).T


def words_of(
    counter: int, second: int, key: tuple[int, int], rounds: int = 10, bits: int = 32
) -> tuple[int, int, int, int]:
    """The words, of ``bits`` each, of one counter whose first two words are given."""
    a, b, c, d = counter, second, 0, 0
    low, high = key
    mask = (1 << bits) - 1
    one, two, first, other = _CONSTANTS[bits]
    for _ in range(rounds):
        p, q = one * a, two * c
        a, b, c, d = q >> bits ^ b ^ low, q & mask, p >> bits ^ d ^ high, p & mask
        low, high = (low + first) & mask, (high + other) & mask
    return a, b, c, d


def uniforms_of(random: Array) -> Array:
    """Words as fp32 in [0, 1): the magnitude of the signed word, scaled."""
    signed = random.view(np.int32)
    return np.where(signed < 0, ~signed, signed).astype(np.float32) * np.float32(4.6566127342e-10)


def normals_of(first: Array, second: Array) -> tuple[Array, Array]:
    """Two normal numbers of two uniform ones, in float64 (Box and Muller)."""
    radius = np.sqrt(-2 * np.log(np.maximum(1e-7, first.astype(np.float64))))
    angle = 6.283185307179586 * second.astype(np.float64)
    return radius * np.cos(angle), radius * np.sin(angle)
