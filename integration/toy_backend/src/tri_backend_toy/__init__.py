"""A complete backend outside of the tree, for tests."""
