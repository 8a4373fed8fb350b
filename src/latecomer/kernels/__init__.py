"""Hot loops over arrays, which return positions. They know nothing of rows, state or Spark."""
