"""Broken: a hook raises."""

from tri_core.api import hookimpl

TRI_PLUGIN_API = (1, 0)


@hookimpl
def tri_backends():
    raise RuntimeError("the toaster is on fire")
