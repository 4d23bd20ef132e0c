"""Loops devices for tri.  Nothing is imported here: tri finds the plugin by its entry point."""
