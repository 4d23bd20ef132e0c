"""Instructions of the loops of dots, beside Triton's."""
