"""Temporary processes, which are always stopped."""

import contextlib
import ctypes
import os
import signal
import subprocess
import sys

PR_SET_PDEATHSIG = 1
STOPPED_WITHIN = 30.0


def stop_on_signals() -> None:
    """Turns signals that end this program into SystemExit, so that it cleans up."""

    def leave(number, _frame):
        for again in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(again, signal.SIG_IGN)
        sys.exit(128 + number)

    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, leave)


def end_with_parent(number: int):
    """Returns a `preexec_fn` by which a child gets the signal `number` if this program is killed."""
    libc = ctypes.CDLL(None)
    return lambda: libc.prctl(PR_SET_PDEATHSIG, number)


@contextlib.contextmanager
def running(command: list, environment: dict[str, str], log=None):
    """Runs a program, and always stops it in the end.

    Its output goes to the file `log`, or can be read from the process.
    """
    clean = {name: value for name, value in os.environ.items() if name != "DATABASE_URL"}
    process = subprocess.Popen(
        command,
        env={**clean, **environment},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE if log is None else log,
        stderr=log,
        text=True,
        # A session of its own, so that Ctrl-C reaches only this program, which then stops the other one.
        start_new_session=True,
        preexec_fn=end_with_parent(signal.SIGTERM),
    )
    try:
        yield process
    finally:
        process.terminate()
        try:
            process.wait(STOPPED_WITHIN)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
