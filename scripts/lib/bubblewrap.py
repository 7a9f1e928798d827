"""Debian's `bubblewrap`, in which the service runs commands of unknown trust."""

import os
import shutil
import subprocess

PROGRAM = "bwrap"
INSTALL = ["apt-get", "install", "--yes", "--no-install-recommends", "bubblewrap"]
UPDATE = ["apt-get", "update"]


def install(_root: object) -> str:
    """Installs the package if its program is missing. Returns its version, or what to type.

    The service also runs without it: it refuses commands then. So a failure is no error of setup.
    """
    failure = "" if shutil.which(PROGRAM) else try_to_install()
    program = shutil.which(PROGRAM)
    if program is None:
        return (
            f"no bubblewrap ({failure}), so the service will refuse to run commands\n"
            f"  next step, if you want them: as root, type `{' '.join(INSTALL)}`, or install the "
            "package bubblewrap of your distribution"
        )
    return f"{run([program, '--version']).stdout.strip()} in {program}"


def try_to_install() -> str:
    """Installs the package with apt-get. Returns why it failed, or an empty text."""
    if shutil.which(INSTALL[0]) is None:
        return "there is no apt-get"
    if os.geteuid() != 0:
        return "only root can install it"
    done = run(INSTALL)
    if done.returncode != 0:
        # A new machine has no package lists yet.
        run(UPDATE)
        done = run(INSTALL)
    lines = (done.stderr.strip() or "apt-get failed").splitlines()
    return "" if done.returncode == 0 else lines[-1]


def run(command: list[str]) -> "subprocess.CompletedProcess[str]":
    """Runs a program without questions, and returns its output."""
    environment = {**os.environ, "LC_ALL": "C", "DEBIAN_FRONTEND": "noninteractive"}
    return subprocess.run(
        command, capture_output=True, text=True, env=environment, stdin=subprocess.DEVNULL
    )
