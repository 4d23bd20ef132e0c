"""Times that programs wait for on the host."""
