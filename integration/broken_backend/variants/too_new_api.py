"""Broken: written against a hook contract of the future."""

from tri_core.api import BackendInfo, hookimpl

TRI_PLUGIN_API = (1, 999)


@hookimpl
def tri_backends():
    return [BackendInfo(name="broken", device_kinds=("broken",), runtime="broken")]
