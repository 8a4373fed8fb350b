"""How disordered a stream is, in words and in pictures."""
