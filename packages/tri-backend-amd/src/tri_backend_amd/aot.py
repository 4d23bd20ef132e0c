"""Kernels in C programs: the code object is part of the source, and HIP is loaded when the kernel is.

Nothing of ROCm is needed to build the program.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tri_core.api import AotLauncher, KernelImage

__all__ = ["launcher"]

_TEMPLATE = """\
#include "{{ header }}"

#include <dlfcn.h>
#include <stddef.h>

{% set name = manifest.function -%}
/* the part of HIP's interface that a launch needs */
typedef int (*tri_module_load)(void **module, const void *image);
typedef int (*tri_module_unload)(void *module);
typedef int (*tri_get_function)(void **function, void *module, const char *name);
typedef int (*tri_launch)(void *function, unsigned x, unsigned y, unsigned z, unsigned block_x,
                          unsigned block_y, unsigned block_z, unsigned shared, void *stream,
                          void **parameters, void **extra);

static const unsigned char tri_image[{{ image | length }}] = {
{%- for byte in image %}{% if loop.index0 % 24 == 0 %}
    {% endif %}{{ byte }},{% endfor %}
};

static void *tri_module, *tri_function;
static tri_launch tri_start;

static void *tri_symbol(const char *wanted)
{
    void *library = dlopen("libamdhip64.so", RTLD_NOW);
    return library ? dlsym(library, wanted) : NULL;
}

int32_t load_{{ name }}(void)
{
    tri_module_load load = (tri_module_load)tri_symbol("hipModuleLoadData");
    tri_get_function get = (tri_get_function)tri_symbol("hipModuleGetFunction");
    int status;
    if (tri_function) return TRI_OK;
    tri_start = (tri_launch)tri_symbol("hipModuleLaunchKernel");
    if (!load || !get || !tri_start) return TRI_NO_DRIVER;
    status = load(&tri_module, tri_image);
    if (!status) status = get(&tri_function, tri_module, "{{ manifest.entry }}");
    return status;
}

int32_t unload_{{ name }}(void)
{
    tri_module_unload unload = (tri_module_unload)tri_symbol("hipModuleUnload");
    int status = TRI_OK;
    if (!unload) return TRI_NO_DRIVER;
    if (tri_module) status = unload(tri_module);
    tri_module = NULL;
    tri_function = NULL;
    return status;
}

int32_t {{ name }}({{ manifest.c_parameters() }})
{
{%- for constant, value in constants.items() %}
    const int64_t {{ constant }} = {{ value }};
{%- endfor %}
    const int64_t tri_x = {{ grid[0] }}, tri_y = {{ grid[1] }}, tri_z = {{ grid[2] }};
    /* laid out as the kernel reads them: each aligned to its size */
    struct {
{%- for p in passed %}
        {{ p.ctype }}{{ "" if p.is_pointer else " " }}argument_{{ p.name }};
{%- endfor %}
{%- if not passed %}
        char none;
{%- endif %}
    } tri_arguments = { {%- for p in passed %}{{ p.name }}, {% endfor %}{% if not passed %}0{% endif %} };
    /* without the padding at the end */
    size_t tri_size = {% if passed %}(size_t)((char *)(&tri_arguments.argument_{{ passed[-1].name }} + 1) - (char *)&tri_arguments)
{%- else %}0{% endif %};
    /* a pointer to the arguments follows, their size follows, the end */
    void *tri_extra[] = { (void *)1, &tri_arguments, (void *)2, &tri_size, (void *)3 };
{%- for parameter in unused %}
    (void){{ parameter }};
{%- endfor %}
{%- for constant in constants %}
    (void){{ constant }};
{%- endfor %}
    if (!tri_function) return TRI_NOT_LOADED;
    if (tri_x < 0 || tri_y < 0 || tri_z < 0 || tri_x > {{ facts.grid[0] }} || tri_y > {{ facts.grid[1] }} || tri_z > {{ facts.grid[2] }})
        return TRI_BAD_GRID;
    if (tri_x == 0 || tri_y == 0 || tri_z == 0) return TRI_OK;
    return tri_start(tri_function, (unsigned)tri_x, (unsigned)tri_y, (unsigned)tri_z,
                  {{ manifest.threads }}, 1, 1, 0, stream, NULL, tri_extra);
}
"""


def _facts(image: KernelImage) -> Mapping[str, Any]:
    from tri_backend_amd.architectures import target

    limits = target(image.metadata.target, None).spec.limits
    return {"grid": [limits["grid_x"], limits["grid_y"], limits["grid_z"]]}


def launcher() -> AotLauncher:
    """The record that core asks for; pointers are device pointers."""
    return AotLauncher(
        template=_TEMPLATE,
        facts=_facts,
        image_suffix="hsaco",
        build="cc -O2 program.c KERNEL.c -ldl",
    )
