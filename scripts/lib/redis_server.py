"""`redis-server` for tests: the system's, or else Debian's, unpacked into the cache and not installed."""

import os
import platform
import re
import shutil
import subprocess
from pathlib import Path

import cache

PROGRAM = Path("redis") / "redis-server"
# With nothing that a package recommends, and in words that can be read below.
SIMULATED = ["apt-get", "install", "--simulate", "--no-install-recommends", "redis-server"]
STARTER = """#!/bin/sh
here=$(dirname "$0")
LD_LIBRARY_PATH=$(echo "$here"/usr/lib/*-linux-*) exec "$here/usr/bin/redis-server" "$@"
"""


def install(root: Path) -> str:
    """Brings the program into the cache; returns what is there and where."""
    program = root / PROGRAM
    # Whichever version the distribution keeps safe: what is superseded is not to be had any more.
    cache.bring(program.parent, {"redis": "Debian's", "processor": platform.machine()}, unpack)
    version = run([str(program), "--version"]).split("v=")[1].split()[0]
    return f"Redis {version} for the tests in {program.parent}"


def unpack(stage: Path) -> None:
    """Links the system's program, or takes it out of its packages with the libraries that are missing here."""
    of_the_system = shutil.which("redis-server")
    if of_the_system:
        (stage / PROGRAM.name).symlink_to(of_the_system)
        return
    try:
        for package in missing():
            run(["apt-get", "download", package], cwd=stage)
        for archive in stage.glob("*.deb"):
            run(["dpkg-deb", "--extract", str(archive), str(stage)])
            archive.unlink()
    except (OSError, subprocess.CalledProcessError) as failure:
        reason = (getattr(failure, "stderr", None) or str(failure)).strip()
        raise cache.SetupError(
            f"redis-server could not be fetched: {reason}\n"
            "  next step: install one (Debian and Ubuntu: apt-get install redis-server)"
        ) from failure
    starter = stage / PROGRAM.name
    starter.write_text(STARTER)
    starter.chmod(0o755)


def missing() -> list[str]:
    """The packages, each as `name=version`, that an installation would bring."""
    try:
        steps = run(SIMULATED)
    except subprocess.CalledProcessError:
        if os.geteuid() != 0:
            raise
        # A machine that was just set up knows of no packages yet.
        run(["apt-get", "update"])
        steps = run(SIMULATED)
    return [f"{name}={version}" for name, version in re.findall(r"^Inst (\S+) \((\S+)", steps, re.M)]


def run(command: list[str], cwd: Path | None = None) -> str:
    """Runs a program and answers what it said."""
    environment = {**os.environ, "LC_ALL": "C"}
    done = subprocess.run(
        command, check=True, capture_output=True, text=True, cwd=cwd, env=environment
    )
    return done.stdout
