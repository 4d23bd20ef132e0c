"""From ``kernel[grid](...)`` to a launch: reading arguments, finding or making the version that fits them."""
