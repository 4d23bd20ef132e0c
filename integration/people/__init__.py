"""Goals of first contact with the project: ``python -m integration.people``."""
