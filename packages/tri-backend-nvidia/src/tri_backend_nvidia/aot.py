"""Kernels in C programs: the cubin is part of the source, and the driver is loaded when the kernel is.

Nothing of CUDA is needed to build the program: neither its headers nor, at link time, its driver.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tri_core.api import AotLauncher, HiddenParameters, KernelImage

__all__ = ["launcher"]

_TEMPLATE = """\
#include "{{ header }}"

#include <stddef.h>
#ifdef _WIN32
#include <windows.h>
#else
#include <dlfcn.h>
#endif

{% set name = manifest.function -%}
/* the part of the driver's interface that a launch needs */
typedef int (*tri_module_load)(void **module, const void *image);
typedef int (*tri_module_unload)(void *module);
typedef int (*tri_get_function)(void **function, void *module, const char *name);
typedef int (*tri_set_attribute)(void *function, int attribute, int value);
{%- if facts.attributes %}
typedef struct { unsigned id, pad; int value, rest[15]; } tri_attribute;
typedef struct {
    unsigned grid[3], block[3], shared;
    void *stream;
    tri_attribute *attributes;
    unsigned count;
} tri_config;
typedef int (*tri_launch)(const tri_config *config, void *function, void **parameters, void **extra);
{%- else %}
typedef int (*tri_launch)(void *function, unsigned x, unsigned y, unsigned z, unsigned block_x,
                          unsigned block_y, unsigned block_z, unsigned shared, void *stream,
                          void **parameters, void **extra);
{%- endif %}

enum { MAX_DYNAMIC_SHARED_SIZE_BYTES = 8 };

static const unsigned char tri_image[{{ image | length }}] = {
{%- for byte in image %}{% if loop.index0 % 24 == 0 %}
    {% endif %}{{ byte }},{% endfor %}
};

static void *tri_module, *tri_function;
static tri_launch tri_start;

static void *tri_symbol(const char *wanted)
{
#ifdef _WIN32
    HMODULE driver = LoadLibraryA("nvcuda.dll");
    return driver ? (void *)GetProcAddress(driver, wanted) : NULL;
#else
    void *driver = dlopen("libcuda.so.1", RTLD_NOW);
    return driver ? dlsym(driver, wanted) : NULL;
#endif
}

/* the calling thread must have a context, which cuCtxCreate or any call of the CUDA runtime makes */
int32_t load_{{ name }}(void)
{
    tri_module_load load = (tri_module_load)tri_symbol("cuModuleLoadData");
    tri_get_function get = (tri_get_function)tri_symbol("cuModuleGetFunction");
    tri_set_attribute set = (tri_set_attribute)tri_symbol("cuFuncSetAttribute");
    int status;
    if (tri_function) return TRI_OK;
    tri_start = (tri_launch)tri_symbol("cuLaunchKernel{{ 'Ex' if facts.attributes }}");
    if (!load || !get || !set || !tri_start) return TRI_NO_DRIVER;
    status = load(&tri_module, tri_image);
    if (!status) status = get(&tri_function, tri_module, "{{ manifest.entry }}");
{%- if manifest.shared > facts.shared_without_asking %}
    if (!status) status = set(tri_function, MAX_DYNAMIC_SHARED_SIZE_BYTES, {{ manifest.shared }});
{%- endif %}
    return status;
}

int32_t unload_{{ name }}(void)
{
    tri_module_unload unload = (tri_module_unload)tri_symbol("cuModuleUnload");
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
    void *tri_parameters[] = { {%- for p in passed %}(void *)&{{ p.name }}, {% endfor %}NULL };
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
{%- if facts.attributes %}
    tri_attribute tri_attributes[] = {
{%- for number in facts.attributes %}
        { .id = {{ number }}, .value = 1 },
{%- endfor %}
    };
    const tri_config tri_configuration = {
        .grid = { (unsigned)tri_x * {{ facts.cluster }}, (unsigned)tri_y, (unsigned)tri_z },
        .block = { {{ manifest.threads }}, 1, 1 },
        .shared = {{ manifest.shared }},
        .stream = stream,
        .attributes = tri_attributes,
        .count = {{ facts.attributes | length }},
    };
    return tri_start(&tri_configuration, tri_function, tri_parameters, NULL);
{%- else %}
    return tri_start(tri_function, (unsigned)tri_x * {{ facts.cluster }}, (unsigned)tri_y, (unsigned)tri_z,
                  {{ manifest.threads }}, 1, 1, {{ manifest.shared }}, stream,
                  tri_parameters, NULL);
{%- endif %}
}
"""


def _facts(image: KernelImage) -> Mapping[str, Any]:
    from tri_backend_nvidia.architectures import target
    from tri_backend_nvidia.driver.launches import attributes_of

    limits = target(image.metadata.target, None).spec.limits
    cluster = HiddenParameters.from_attrs(image.metadata.attrs).cluster
    return {
        "shared_without_asking": 48 * 1024,
        "attributes": attributes_of(image.metadata.options),
        # programs along x, each run by a cluster of CTAs
        "grid": [limits["grid_x"] // cluster, limits["grid_y"], limits["grid_z"]],
        "cluster": cluster,
    }


def launcher() -> AotLauncher:
    """The record that core asks for; pointers are device addresses, as the driver's ``CUdeviceptr``."""
    return AotLauncher(
        template=_TEMPLATE,
        facts=_facts,
        image_suffix="cubin",
        pointer="uint64_t",
        # what the driver is asked at a launch, and descriptors, are not for C
        settled={"warp_specialize": False, "persistent": False},
        build="cc -O2 program.c KERNEL.c -ldl",
    )
