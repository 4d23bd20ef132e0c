"""What passes ask of ops, whatever dialect they are of."""
