"""Window joins of disordered streams, with a stated recall. Start reading at `loop`."""
