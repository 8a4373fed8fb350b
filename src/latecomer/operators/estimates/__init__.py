"""What a sample says of the whole, and how sure that is."""
