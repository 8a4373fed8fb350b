"""All that users call; thin: what an operator does is documented in its own file."""
