"""Broken: importing the plugin fails."""

import a_module_that_does_not_exist  # noqa: F401

TRI_PLUGIN_API = (1, 0)
