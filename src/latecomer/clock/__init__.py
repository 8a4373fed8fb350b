"""What is known about time: watermarks, silence, a clock for each key."""
