"""Tell how disordered a stream is, in words and in pictures."""
