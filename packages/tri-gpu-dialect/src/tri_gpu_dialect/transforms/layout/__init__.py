"""Layouts: which there are, where they change, and matrix instructions that want their own."""
