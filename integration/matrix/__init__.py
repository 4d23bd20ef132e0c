"""Each backend alone from its wheel, with the oldest and the newest core: ``docs/design/releases.md``."""
