"""Programs that are started for a while and never left behind."""

import contextlib
import ctypes
import os
import signal
import subprocess
import sys

PR_SET_PDEATHSIG = 1
STOPPED_WITHIN = 30.0


def stop_on_signals() -> None:
    """Makes the signals that end a program unwind this one, so that it clears up."""

    def leave(number, _frame):
        for again in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(again, signal.SIG_IGN)
        sys.exit(128 + number)

    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, leave)


def end_with_parent(number: int):
    """A `preexec_fn`: should this program be killed, its child gets the signal `number`."""
    libc = ctypes.CDLL(None)
    return lambda: libc.prctl(PR_SET_PDEATHSIG, number)


@contextlib.contextmanager
def running(command: list, environment: dict[str, str], log=None):
    """A program that is stopped afterwards, whatever happens.

    It writes to the file `log`, or leaves its output to be read from the process.
    """
    clean = {name: value for name, value in os.environ.items() if name != "DATABASE_URL"}
    process = subprocess.Popen(
        command,
        env={**clean, **environment},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE if log is None else log,
        stderr=log,
        text=True,
        # Its own session: Ctrl-C is for this program, which then stops the other one.
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
