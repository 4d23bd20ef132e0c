"""What people meet: the goals of ``python -m integration.people``."""
