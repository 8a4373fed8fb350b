"""The same two questions, as a program for each system that `benchmarks.peers` compares.

Each is run by the Python of its own environment, so it imports nothing of ours, and is called as

    PROGRAM QUESTION WAY FILES OUT RESULTS UNTIL

with the question (count, join), one of several ways to run it or nothing, the folder of rows, a
folder for results, and how many results there are up to which time: a system that does not end by
itself has to wait for them. Results are lines of CSV: begin of window, key, count; or time, time,
key. The last line printed is JSON: the version, and the settings that differ from its own.

Windows are of 10 s, everybody waits a minute, joins are within 5 s; times are in milliseconds.
"""
