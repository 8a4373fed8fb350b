"""Hand rows out once their arrival is reached: as a Spark stream, or as files in a directory."""
