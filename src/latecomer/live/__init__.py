"""Show queries while they run, on a page and in a terminal."""
