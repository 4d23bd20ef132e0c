"""Kernels in C programs: SPIR-V is part of the source, and Level Zero's loader is opened when the kernel is loaded.

Nothing of Level Zero is needed to build the program.  A stream is a ``ze_command_list_handle_t``; the module is built when the first
launch comes to a list of a context and device (Level Zero specification, "Modules and Kernels").
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tri_core.api import AotLauncher, KernelImage, Target, Unsupported

__all__ = ["launcher"]

_TEMPLATE = """\
#include "{{ header }}"

#include <stddef.h>
#include <stdlib.h>
#ifdef _WIN32
#include <windows.h>
#else
#include <dlfcn.h>
#include <pthread.h>
#endif

{% set name = manifest.function -%}
/* the part of Level Zero's interface (1.9) that a launch needs */
typedef struct { uint32_t count; const uint32_t *ids; const void **values; } tri_module_constants;
typedef struct {
    uint32_t stype; const void *next;
    uint32_t format; size_t size; const uint8_t *data; const char *flags; const tri_module_constants *constants;
} tri_module_desc;
typedef struct { uint32_t stype; const void *next; uint32_t flags; const char *name; } tri_kernel_desc;
typedef struct {
    uint32_t stype; void *next;
    uint32_t arguments, required[5], most[2], local, private_bytes, spills;
    uint8_t uuids[32];
} tri_kernel_properties;
typedef struct {
    uint32_t stype; void *next;
    uint32_t type, vendor, device, flags, subdevice, megahertz;
    uint64_t most; uint32_t counts[7]; uint64_t resolution; uint32_t bits[2];
    uint8_t uuid[16]; char name[256];
} tri_device_properties;
typedef struct { uint32_t x, y, z; } tri_group_count;

static struct {
    int32_t (*list_context)(void *list, void **context);
    int32_t (*list_device)(void *list, void **device);
    int32_t (*device_properties)(void *device, tri_device_properties *properties);
    int32_t (*module_create)(void *context, void *device, const tri_module_desc *desc, void **module, void **log);
    int32_t (*module_destroy)(void *module);
    int32_t (*kernel_create)(void *module, const tri_kernel_desc *desc, void **kernel);
    int32_t (*kernel_destroy)(void *kernel);
    int32_t (*kernel_properties)(void *kernel, tri_kernel_properties *properties);
    int32_t (*set_group_size)(void *kernel, uint32_t x, uint32_t y, uint32_t z);
    int32_t (*set_indirect_access)(void *kernel, uint32_t flags);
    int32_t (*set_argument)(void *kernel, uint32_t index, size_t size, const void *value);
    int32_t (*append)(void *list, void *kernel, const tri_group_count *groups, void *signal, uint32_t count,
                      void **waits);
} tri_ze;

static const uint8_t image[{{ image | length }}] = {
{%- for byte in image %}{% if loop.index0 % 24 == 0 %}
    {% endif %}{{ byte }},{% endfor %}
};

/* the module in one context, on one device */
typedef struct tri_loaded {
    void *context, *device, *module, *kernel;
    uint32_t spills;
    struct tri_loaded *next;
} tri_loaded;

static tri_loaded *loaded;
static int bound;

/* arguments are state of a kernel's handle, which one thread may use at a time */
#ifdef _WIN32
static SRWLOCK lock = SRWLOCK_INIT;
static void tri_take(void) { AcquireSRWLockExclusive(&lock); }
static void tri_give(void) { ReleaseSRWLockExclusive(&lock); }
#else
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static void tri_take(void) { pthread_mutex_lock(&lock); }
static void tri_give(void) { pthread_mutex_unlock(&lock); }
#endif

static int bind(void *into, const char *wanted)
{
    void *found = NULL;
#ifdef _WIN32
    HMODULE loader = LoadLibraryA("ze_loader.dll");
    if (loader) found = (void *)GetProcAddress(loader, wanted);
#else
    void *loader = dlopen("libze_loader.so.1", RTLD_NOW);
    if (loader) found = dlsym(loader, wanted);
#endif
    *(void **)into = found;
    return found != NULL;
}

/* opens the loader; the first launch in a context builds the kernel there */
int32_t load_{{ name }}(void)
{
    int ok;
    tri_take();
    ok = bound = bound || (
{%- for field, function in facts.functions.items() %}
        bind(&tri_ze.{{ field }}, "{{ function }}"){{ ");" if loop.last else " &&" }}
{%- endfor %}
    tri_give();
    return ok ? TRI_OK : TRI_NO_DRIVER;
}

static int32_t destroy(const tri_loaded *it)
{
    int32_t status = TRI_OK, also = TRI_OK;
    if (it->kernel) status = tri_ze.kernel_destroy(it->kernel);
    if (it->module) also = tri_ze.module_destroy(it->module);
    return status ? status : also;
}

/* before the contexts that it was launched in are destroyed, and after the launches are done */
int32_t unload_{{ name }}(void)
{
    int32_t status = TRI_OK, failed;
    tri_take();
    while (loaded) {
        tri_loaded *it = loaded;
        loaded = it->next;
        failed = destroy(it);
        if (failed) status = failed;
        free(it);
    }
    bound = 0;
    tri_give();
    return status;
}

/* whether the kernel is compiled for the device of this PCI id */
static int is_made_for(uint32_t id)
{
    static const struct { uint32_t first, last, same; } devices[] = {
{%- for first, last, same in facts.devices %}
        { {{ "0x%04X" % first }}, {{ "0x%04X" % last }}, {{ same | int }} },
{%- endfor %}
    };
    size_t i;
    for (i = 0; i < sizeof devices / sizeof *devices; i++)
        if (devices[i].first <= id && id <= devices[i].last) return (int)devices[i].same;
    return {{ facts.unlisted | int }};
}

static int32_t build(tri_loaded *it, const char *flags, uint32_t megahertz)
{
{%- if facts.clock is not none %}
    /* the clock counts in the device's ticks */
    const uint32_t id = {{ facts.clock }};
    const int64_t factor = megahertz ? 1024000 / (int64_t)megahertz : 0;
    const void *value = &factor;
    const tri_module_constants constants = { 1, &id, &value };
    const tri_module_constants *given = megahertz ? &constants : NULL;
{%- else %}
    const tri_module_constants *given = NULL;
{%- endif %}
    const tri_module_desc desc = { {{ facts.stypes.module }}, NULL, {{ facts.spirv }}, sizeof image, image, flags, given };
    const tri_kernel_desc kernel = { {{ facts.stypes.kernel }}, NULL, 0, "{{ manifest.entry }}" };
    tri_kernel_properties properties = { .stype = {{ facts.stypes.kernel_properties }} };
    int32_t status = tri_ze.module_create(it->context, it->device, &desc, &it->module, NULL);
    (void)megahertz;
    if (!status) status = tri_ze.kernel_create(it->module, &kernel, &it->kernel);
    if (!status) status = tri_ze.set_group_size(it->kernel, {{ manifest.threads }}, 1, 1);
    /* pointers may come out of memory, too */
    if (!status) status = tri_ze.set_indirect_access(it->kernel, {{ facts.everywhere }});
    if (!status) status = tri_ze.kernel_properties(it->kernel, &properties);
    it->spills = properties.spills;
    if (status) destroy(it);
    return status;
}

static int32_t make(void *context, void *device, tri_loaded **found)
{
    /* register modes: the one that spills least is taken */
    static const char *const flags[] = { {%- for flags in facts.modes %}"{{ flags }}"{{ ", " if not loop.last }}{% endfor %} };
    tri_device_properties properties = { .stype = {{ facts.stypes.device_properties }} };
    tri_loaded made = { .context = context, .device = device };
    size_t i;
    int32_t status = tri_ze.device_properties(device, &properties);
    if (status) return status;
    if (!is_made_for(properties.device)) return {{ facts.results.other_device }};
    status = build(&made, flags[0], properties.megahertz);
    if (status) return status;
    for (i = 1; made.spills && i < sizeof flags / sizeof *flags; i++) {
        tri_loaded other = { .context = context, .device = device };
        if (build(&other, flags[i], properties.megahertz)) continue;
        if (other.spills < made.spills) {
            const tri_loaded worse = made;
            made = other;
            other = worse;
        }
        destroy(&other);
    }
    *found = malloc(sizeof made);
    if (!*found) {
        destroy(&made);
        return TRI_NO_MEMORY;
    }
    made.next = loaded;
    **found = made;
    loaded = *found;
    return TRI_OK;
}

/* the kernel for the list's context and device; none where there is nothing to launch */
static int32_t tri_prepare(void *list, int64_t x, int64_t y, int64_t z, tri_loaded **found)
{
    void *context = NULL, *device = NULL;
    tri_loaded *it;
    int32_t status;
    if (!bound) return TRI_NOT_LOADED;
    if (x < 0 || y < 0 || z < 0 || x > {{ facts.grid[0] }} || y > {{ facts.grid[1] }} || z > {{ facts.grid[2] }})
        return TRI_BAD_GRID;
    if (x == 0 || y == 0 || z == 0) return TRI_OK;
    if (!list) return {{ facts.results.null_handle }};
    status = tri_ze.list_context(list, &context);
    if (!status) status = tri_ze.list_device(list, &device);
    if (status) return status;
    for (it = loaded; it; it = it->next)
        if (it->context == context && it->device == device) {
            *found = it;
            return TRI_OK;
        }
    return make(context, device, found);
}

static int32_t tri_append(void *list, const tri_loaded *it, int64_t x, int64_t y, int64_t z)
{
    const tri_group_count groups = { (uint32_t)x, (uint32_t)y, (uint32_t)z };
    return tri_ze.append(list, it->kernel, &groups, NULL, 0, NULL);
}

/* stream: a ze_command_list_handle_t, immediate or not, which this thread may append to */
int32_t {{ name }}({{ manifest.c_parameters() }})
{
    /* the parameters have names of their own, so all others begin with tri_ */
{%- for constant, value in constants.items() %}
    const int64_t {{ constant }} = {{ value }};
{%- endfor %}
    const int64_t tri_x = {{ grid[0] }}, tri_y = {{ grid[1] }}, tri_z = {{ grid[2] }};
    tri_loaded *tri_found = NULL;
    int32_t tri_status;
{%- for parameter in unused %}
    (void){{ parameter }};
{%- endfor %}
{%- for constant in constants %}
    (void){{ constant }};
{%- endfor %}
    tri_take();
    tri_status = tri_prepare(stream, tri_x, tri_y, tri_z, &tri_found);
    if (tri_found) {
{%- for p in passed %}
        if (!tri_status) tri_status = tri_ze.set_argument(tri_found->kernel, {{ loop.index0 }}, sizeof {{ p.name }}, &{{ p.name }});
{%- endfor %}
        if (!tri_status) tri_status = tri_append(stream, tri_found, tri_x, tri_y, tri_z);
    }
    tri_give();
    return tri_status;
}
"""

#: a field of the template's table -> the function
_FUNCTIONS = {
    "list_context": "zeCommandListGetContextHandle",
    "list_device": "zeCommandListGetDeviceHandle",
    "device_properties": "zeDeviceGetProperties",
    "module_create": "zeModuleCreate",
    "module_destroy": "zeModuleDestroy",
    "kernel_create": "zeKernelCreate",
    "kernel_destroy": "zeKernelDestroy",
    "kernel_properties": "zeKernelGetProperties",
    "set_group_size": "zeKernelSetGroupSize",
    "set_indirect_access": "zeKernelSetIndirectAccess",
    "set_argument": "zeKernelSetArgumentValue",
    "append": "zeCommandListAppendLaunchKernel",
}


def _facts(image: KernelImage) -> Mapping[str, Any]:
    from tri_backend_intel.architectures import target
    from tri_backend_intel.runtime.architecture import devices_like
    from tri_backend_intel.runtime.level_zero.api import (
        DeviceProperties,
        KernelDesc,
        KernelIndirectAccessFlag,
        KernelProperties,
        ModuleDesc,
        ModuleFormat,
        Result,
    )
    from tri_backend_intel.runtime.modes import modes_of
    from tri_backend_intel.spirv.specialization import CLOCK_FACTOR, specialization_ids

    key = image.metadata.target
    limits = target(key, None).spec.limits
    devices, unlisted = devices_like(key.arch)
    reach = KernelIndirectAccessFlag.HOST | KernelIndirectAccessFlag.DEVICE | KernelIndirectAccessFlag.SHARED
    return {
        "functions": _FUNCTIONS,
        "stypes": {
            "module": ModuleDesc.STYPE,
            "kernel": KernelDesc.STYPE,
            "kernel_properties": KernelProperties.STYPE,
            "device_properties": DeviceProperties.STYPE,
        },
        "results": {
            "null_handle": f"{Result.ERROR_INVALID_NULL_HANDLE:#x}",
            "other_device": f"{Result.ERROR_UNSUPPORTED_FEATURE:#x}",
        },
        "spirv": int(ModuleFormat.IL_SPIRV),
        "everywhere": int(reach),
        "modes": modes_of(image),
        "clock": CLOCK_FACTOR if CLOCK_FACTOR in specialization_ids(image.data) else None,
        "grid": [limits["grid_x"], limits["grid_y"], limits["grid_z"]],
        "devices": devices,
        "unlisted": unlisted,
    }


def launcher(target: Target) -> AotLauncher:
    """The record that core asks for; pointers are USM, or what the device reaches.

    Unsupported for targets that Level Zero has no devices of.
    """
    if not target.has("gpu"):
        raise Unsupported(
            f"C programs launch kernels of Intel's through Level Zero, which has no device {target}",
            remedy="compile for a GPU, such as intel:pvc, or for the target cpu",
        )
    return AotLauncher(
        template=_TEMPLATE,
        facts=_facts,
        image_suffix="spv",
        build="cc -O2 program.c KERNEL.c -ldl -lpthread",
    )
