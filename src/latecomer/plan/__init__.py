"""What a stream asks for, as data, and which stage each operator goes to."""
