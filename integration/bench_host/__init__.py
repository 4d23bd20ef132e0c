"""What programs wait for on the host."""
