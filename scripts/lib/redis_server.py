"""`redis-server` for tests: the system's, else Debian's package, unpacked into the cache."""

import os
import platform
import re
import shutil
import subprocess
from pathlib import Path

import cache

PROGRAM = Path("redis") / "redis-server"
# Without recommended packages. `missing` parses the output.
SIMULATED = ["apt-get", "install", "--simulate", "--no-install-recommends", "redis-server"]
STARTER = """#!/bin/sh
here=$(dirname "$0")
LD_LIBRARY_PATH=$(echo "$here"/usr/lib/*-linux-*) exec "$here/usr/bin/redis-server" "$@"
"""


def install(root: Path) -> str:
    """Brings the program into the cache. Returns its version and path."""
    program = root / PROGRAM
    # Any version that the distribution supports: it removes superseded ones.
    cache.bring(program.parent, {"redis": "Debian's", "processor": platform.machine()}, unpack)
    version = run([str(program), "--version"]).split("v=")[1].split()[0]
    return f"Redis {version} for the tests in {program.parent}"


def unpack(stage: Path) -> None:
    """Links the system's program, or unpacks it from its packages with the missing libraries."""
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
    """Returns the packages, each as `name=version`, that an installation would add."""
    try:
        steps = run(SIMULATED)
    except subprocess.CalledProcessError:
        if os.geteuid() != 0:
            raise
        # A new machine has no package lists yet.
        run(["apt-get", "update"])
        steps = run(SIMULATED)
    return [f"{name}={version}" for name, version in re.findall(r"^Inst (\S+) \((\S+)", steps, re.M)]


def run(command: list[str], cwd: Path | None = None) -> str:
    """Runs a program and returns its output."""
    environment = {**os.environ, "LC_ALL": "C"}
    done = subprocess.run(
        command, check=True, capture_output=True, text=True, cwd=cwd, env=environment
    )
    return done.stdout
