"""A soak: processes that launch, compile, fork, take signals and run short of near addresses, for as long as asked."""
