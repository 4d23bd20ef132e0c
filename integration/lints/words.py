"""Words that are ours alone, where the field has one: each line of :data:`WORDS` says what to write instead.

Looked at are lines of source, tests, kernels and pages, names of files too.  Ambiguous words ("product" of numbers, "sum"
of a reduction) cannot be told from the wrong sense by a pattern; only their wrong uses that have a form of their own stand here.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

__all__ = ["WORDS", "private_words", "texts"]

#: pattern, of a word or of a part of a name -> the field's word
WORDS: dict[str, str] = {
    r"(matrix|scaled)[ _]products?|whole_product|products? of matrices|products?[ _]loop": "dot, matmul, GEMM",
    r"turned (products?|dots?)": "transposed (operands swapped)",
    r"turns? of (a|the|its) loop|loop's turns?": "iteration",
    r"(threads|groups|warps) (would )?(all )?meet|(?<!without )meeting|meetings|meet(s|ing)? at barriers?": "barrier, synchronise",
    r"ways? out|end of a tile": "epilogue; remedy",
    r"comes? round|handed on|hands? on": "iter_args, loop-carried; forward",
    r"(?<!of a )teams?": "partitions",
    r"(draw|publish|read)s?[ _]programs?|drawing programs?": "dynamic tile scheduler: fetch, broadcast, read a tile",
    r"(gives?|given|giving) back (a|the|its) (slot|stage)|slots? (is|are) (free|full|given back)": "release, stage of the ring",
    r"rubbish": "undefined, poison",
    r"nobody knows": "unsupported operation, by its name; unknown",
    r"warp[_-]group[_-]turns?": "ordered (ping-pong) named barrier",
    r"meet-before-dots|meet_before_dots": "insert-tcgen05-barriers",
    r"start-dots|start_dots": "hoist-async-dots",
    r"start-sums|start_sums": "preload-accumulator",
    r"delay-dots|delay_dots": "pipeline-chained-dots",
    r"overlap-dots|overlap_dots": "sink-dot-waits",
    r"place-accumulators|place_accumulators": "allocate-tensor-memory",
    r"split-stores|split_stores": "subtile-epilogue",
    r"round-copies|round_copies": "tma-round-tf32",
    r"copy-descriptor-blocks|copy_descriptor_blocks": "lower-descriptors-to-tma",
    r"dead-carried|dead_carried": "remove-dead-iter-args",
    r"gather-blocks|gather_blocks": "gather-across-cluster",
    r"lift-control-flow|lift_control_flow": "cf-to-scf",
    r"ring[_-]sides?": "producer, consumer",
    r"ring[_-]room": "shared-memory budget",
    r"(?<!grouped_)(?<!grouped-)row[_-]loads": "grouped row loads",
    r"product[_-]shares?": "cta_split",
    r"joined[_-]stages?": "fused_loop_schedule",
    r"launch[_-]numbers": "launch_invariants",
    r"stand_ins?|stand-ins? (of|for) (tensor )?maps": "empty_tensor_maps",
    r"quick[_-]launch(es)?|launch[_-]quick": "fast_launch",
    r"bulk/|bulk\.places|bulk (copy|copies)": "tma/, block copies",
    r"told (=|\+=|in|is)|told[.\[(]|_told|told_\w+": "what it holds: reported, given",
    r"the words of": "what they are",
}
#: lines in which a former name is the point
_FORMER = re.compile(r"former|deprecat", re.IGNORECASE)
_SKIPPED = re.compile(
    r"CHANGELOG|LICENSE|docs/measurements/|integration/lints/|test_former_names\.py|test_lints\.py|test_words\.py|/\.nox/|/found/"
)
_SUFFIXES = {".py", ".md", ".mlir", ".toml", ".jinja", ".ttir", ".ttgir"}
_PATTERNS = [
    (re.compile(rf"(?<![A-Za-z])({word})(?![A-Za-z])", re.IGNORECASE), said) for word, said in WORDS.items()
]


def texts(top: Path) -> list[Path]:
    """The files of the repository at ``top`` whose words are looked at."""
    folders = ("packages", "integration", "docs")
    found = [path for folder in folders for path in sorted((top / folder).rglob("*"))]
    return [
        path
        for path in (top / "README.md", *found)
        if path.suffix in _SUFFIXES and not _SKIPPED.search(path.relative_to(top).as_posix())
    ]


def private_words(name: str, text: str) -> Iterator[tuple[int, str]]:
    """Lines of a file called ``name``, 0 for the name itself, and what is to be said there instead of what."""
    for number, line in enumerate([name, *text.split("\n")]):
        if _FORMER.search(line):
            continue
        for pattern, said in _PATTERNS:
            found = pattern.search(line)
            if found:
                yield number, f"{found.group(1)!r}: say {said}"
