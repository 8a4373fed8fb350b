"""What survives a crash: records, the owner of a checkpoint, outputs that appear as a whole."""
