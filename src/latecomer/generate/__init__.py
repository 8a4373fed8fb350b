"""Make disordered streams."""
