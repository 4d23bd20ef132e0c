"""Software pipelining of loops."""
