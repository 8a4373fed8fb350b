"""How disordered a stream is, measured."""
