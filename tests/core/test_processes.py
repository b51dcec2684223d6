"""Processes that are forked do not outlive who would have ended them (R31)."""

import contextlib
import os
import select
import signal
import subprocess
import sys

import pytest

from tests.support.processes import ROOT

LED = """
import os, time
from core.processes import lead, leaderless
lead()
if os.fork():
    os.wait()
if os.fork():  # also what its children fork
    os.wait()
print("led" if not leaderless() else "alone", flush=True)
while not leaderless():
    time.sleep(0.01)
print("alone", flush=True)
"""
IN_A_ROW = """
import os, signal
from core.processes import forks_die_with_parents
forks_die_with_parents()
child = os.fork()
if not child:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    if not os.fork():
        print("started", flush=True)
    signal.pause()
signal.pause()
"""


@pytest.fixture
def script():
    """Start a script with `script(text)`; what is left of it is killed with the test."""
    started = []

    def start(text):
        started.append(
            subprocess.Popen([sys.executable, "-c", text], cwd=ROOT, stdout=subprocess.PIPE, start_new_session=True)
        )
        return started[-1]

    yield start
    for one in started:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(one.pid, signal.SIGKILL)
        one.stdout.close()
        one.wait()


def said_within(seconds, process):
    """Return the next line, empty at the end; None when nothing comes."""
    ready, _, _ = select.select([process.stdout], [], [], seconds)
    return process.stdout.readline() if ready else None


def test_a_forked_process_can_tell_that_its_leader_has_ended(script):
    """R31: also when there is somebody between them who still lives."""
    leader = script(LED)
    assert leader.stdout.readline() == b"led\n"
    leader.kill()
    assert said_within(10, leader) == b"alone\n"


def test_a_process_that_nobody_leads_is_not_alone():
    """Web server and tests have no supervisor."""
    from core.processes import leaderless

    assert leaderless() is False


def test_what_was_forked_below_a_process_ends_with_it_one_after_the_other(script):
    """R31: when everybody who would end them is killed, none stays, not even one that ignores SIGTERM."""
    first = script(IN_A_ROW)
    assert first.stdout.readline() == b"started\n"
    first.kill()
    assert said_within(10, first) == b""  # its end: the last of them held it open
