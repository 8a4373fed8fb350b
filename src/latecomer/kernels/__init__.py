"""Hot loops: arrays in, positions out. No rows, no state, no Spark."""
