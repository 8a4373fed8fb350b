"""How disordered a stream is, and the clock that goes with it."""
