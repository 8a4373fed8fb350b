"""Data that survives a crash: records, the owner of a checkpoint, outputs that appear whole."""
