"""The machine ops, by what they are about; each states the instruction that it becomes."""
