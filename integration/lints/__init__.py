"""Lints of the repository's own rules; ``python -m integration.lints`` runs them all."""
