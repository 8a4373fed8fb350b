"""Everything that users call; thin, because an operator's documentation is in its own file."""
