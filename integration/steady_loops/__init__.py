"""Instructions of the loops of products, beside Triton's."""
