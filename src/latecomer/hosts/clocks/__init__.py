"""Running clock policies: which chain of a stage gets which rows, and by which clock."""
