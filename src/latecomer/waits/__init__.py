"""How long to wait for late rows, chosen by the recall that is asked for."""
