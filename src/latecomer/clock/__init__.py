"""The clocks of a stream: watermarks, silence, one clock for each key or source."""
