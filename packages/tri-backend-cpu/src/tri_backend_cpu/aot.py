"""Kernels in C programs: the object is linked in, and a plain C function fills its task and calls it.

The layout of the task is that of :mod:`tri_backend_cpu.launch_abi`.  Built with OpenMP, all threads share the
programs of a launch; without, the calling thread runs them all.  Pointers that are equal get the code for arrays that
overlap; how far arrays reach, C doesn't tell.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tri_backend_cpu.launch_abi import Facts, ordered_symbol, range_index
from tri_core.api import AotLauncher, KernelImage, Unsupported

__all__ = ["launcher"]

_TEMPLATE = """\
#include "{{ header }}"

#include <stdlib.h>
#include <string.h>

{% set name = manifest.function -%}
extern void {{ manifest.entry }}(void *task, void *arena);
{%- if facts.ordered %}
extern void {{ facts.ordered }}(void *task, void *arena);
{%- endif %}

typedef struct {
    int64_t next, total, chunk;
    int32_t grid[3];
    int32_t failed;
    void *printer;
    int32_t failed_program[3];
    int32_t past_caches;
    const int32_t *attention;
    void *poll;
    int32_t cancelled, unused;
{%- for p in passed %}
    {{ p.ctype }}{{ "" if p.is_pointer else " " }}argument_{{ p.name }};
{%- endfor %}
{%- if facts.ranges %}
    void *checker;
    int64_t ranges[{{ facts.ranges }}][2];
{%- endif %}
} {{ name }}_task;

int32_t load_{{ name }}(void) { return TRI_OK; }

int32_t unload_{{ name }}(void) { return TRI_OK; }

int32_t {{ name }}({{ manifest.c_parameters() }})
{
{%- for constant, value in constants.items() %}
    const int64_t {{ constant }} = {{ value }};
{%- endfor %}
    const int64_t tri_x = {{ grid[0] }}, tri_y = {{ grid[1] }}, tri_z = {{ grid[2] }};
    const size_t tri_page = 4096, tri_arena_bytes = {{ facts.arena }};
    static const int32_t tri_calm = 0;
    {{ name }}_task tri_task;
    int32_t tri_status = TRI_OK;
    void (*tri_run)(void *, void *) = {{ manifest.entry }};
    (void)stream;
{%- for parameter in unused %}
    (void){{ parameter }};
{%- endfor %}
{%- for constant in constants %}
    (void){{ constant }};
{%- endfor %}
    if (tri_x < 0 || tri_y < 0 || tri_z < 0 || tri_x > INT32_MAX || tri_y > INT32_MAX || tri_z > INT32_MAX) return TRI_BAD_GRID;
    if (tri_x == 0 || tri_y == 0 || tri_z == 0) return TRI_OK;
    memset(&tri_task, 0, sizeof tri_task);
    tri_task.attention = &tri_calm;
    tri_task.total = tri_x * tri_y * tri_z;
    tri_task.chunk = tri_task.total / 256 > 1 ? tri_task.total / 256 : 1;
    tri_task.grid[0] = (int32_t)tri_x;
    tri_task.grid[1] = (int32_t)tri_y;
    tri_task.grid[2] = (int32_t)tri_z;
{%- for p in passed %}
    tri_task.argument_{{ p.name }} = {{ p.name }};
{%- endfor %}
{%- if facts.ranges %}
    /* pointers in C don't tell how much they point to: every address is in range */
    for (int tri_range = 0; tri_range < {{ facts.ranges }}; tri_range++) tri_task.ranges[tri_range][1] = INT64_MAX;
{%- endif %}
{%- for first, second in facts.apart %}
    if ((const void *){{ first }} == (const void *){{ second }}) tri_run = {{ facts.ordered }};
{%- endfor %}
#ifdef _OPENMP
#pragma omp parallel
#endif
    {
        char *tri_memory = tri_arena_bytes ? malloc(tri_arena_bytes + tri_page) : NULL;
        if (tri_arena_bytes && !tri_memory)
            tri_status = TRI_NO_MEMORY;
        else
            tri_run(&tri_task, tri_memory ? tri_memory + (tri_page - (uintptr_t)tri_memory % tri_page) : NULL);
        free(tri_memory);
    }
    /* a thread that got no memory took no programs: the others ran them, unless there was none */
    if (tri_task.next >= tri_task.total) tri_status = TRI_OK;
    return tri_task.failed ? TRI_ASSERTION : tri_status;
}
"""


def _facts(image: KernelImage) -> Mapping[str, Any]:
    facts = Facts.find(image.data)
    if facts.prints:
        raise Unsupported(
            f"{image.metadata.name} prints, which needs Python",
            remedy="leave device_print out of kernels for C",
        )
    parameters = len(image.metadata.signature.parameters)
    ranges = range_index(parameters + 1, writes=False) if facts.accesses else 0
    arena, ordered, apart = facts.arena, "", []
    if facts.ordered is not None:
        arena, ordered = max(arena, facts.ordered.arena), ordered_symbol(image.metadata.entry)
        names = [p.name for p in image.metadata.signature.parameters]
        apart = [(names[i], names[j]) for i, j, in_place in facts.apart if not in_place]
    return {"arena": arena, "ranges": ranges, "ordered": ordered, "apart": apart}


def launcher() -> AotLauncher:
    """The record that core asks for."""
    return AotLauncher(
        template=_TEMPLATE,
        facts=_facts,
        image_suffix="o",
        embed=False,
        build="cc -O2 -fopenmp program.c KERNEL.c KERNEL.o",
    )
