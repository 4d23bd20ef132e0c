"""Broken: implements a hook that does not exist."""

from tri_core.api import BackendInfo, hookimpl

TRI_PLUGIN_API = (1, 0)


@hookimpl
def tri_backends():
    return [BackendInfo(name="broken", device_kinds=("broken",), runtime="broken")]


@hookimpl
def tri_pipelines(target):
    return None
