"""Dialects that core owns."""
