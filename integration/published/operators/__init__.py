"""Public operators of published packages, found by introspection, with arguments by kind."""
