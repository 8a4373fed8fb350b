import subprocess
import sys


def test_small_talk_is_left_out_and_everything_else_is_passed_on() -> None:
    talk = "Streaming TransformWithStateInPandas Python worker"
    program = f"""
import subprocess, sys, threading
from latecomer.demo.quiet import without_small_talk
with without_small_talk():
    child = subprocess.Popen(["cat"], stdin=subprocess.PIPE, stdout=2, text=True)
child.communicate("one\\n\\nStarting {talk}.\\n\\n{talk} received\\n\\n\\ntwo\\n")
print("three", file=sys.stderr)
# The relay ends once nobody can write any more; a program that ends before would cut it off.
[thread.join() for thread in threading.enumerate() if thread.daemon]
"""

    answer = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )

    assert sorted(answer.stderr.splitlines()) == ["", "", "one", "three", "two"]


def test_what_was_said_before_a_failure_stands_above_the_error() -> None:
    program = """
import os, subprocess
from latecomer.demo.quiet import without_small_talk
with without_small_talk():
    subprocess.run(["sh", "-c", "echo no memory >&2"])
    raise SystemExit("did not start")
"""

    answer = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )

    assert answer.stderr.splitlines() == ["no memory", "did not start"]
