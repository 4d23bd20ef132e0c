"""Broken: claims the name of a backend that is there already (itself, under another device kind)."""

from tri_core.api import BackendInfo, hookimpl

TRI_PLUGIN_API = (1, 0)


@hookimpl
def tri_backends():
    return [
        BackendInfo(name="broken", device_kinds=("broken",), runtime="broken"),
        BackendInfo(name="broken", device_kinds=("broken2",), runtime="broken2"),
    ]
