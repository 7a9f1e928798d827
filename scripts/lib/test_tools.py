"""Tools for tests that are written in Python; each has a folder of its own, for PYTHONPATH."""

import os
import sys
from functools import partial
from pathlib import Path

import cache
import wheels


# By this name hypothesis tells libraries from the code under test, which it reads through at each start.
PACKAGES = "site-packages"


def schemathesis(root: Path) -> str:
    """Brings schemathesis into the cache."""
    return install("schemathesis", root)


def rlsautotest(root: Path) -> str:
    """Brings rlsautotest into the cache."""
    return install("rlsautotest", root)


def install(name: str, root: Path) -> str:
    """Brings the wheels that `requirements/<name>.txt` pins into the cache folder `name`."""
    place, pins = root / name, wheels.requirements(name)
    # Some of the wheels are compiled for one Python.
    stamp = {"requirements": wheels.digest(pins), "python": list(sys.version_info[:2]), "in": PACKAGES}
    cache.bring(place, stamp, partial(fetch, pins))
    return f"{name} for the tests in {place}"


def fetch(pins: Path, stage: Path) -> None:
    """Fetches what `pins` names."""
    wheels.pip(
        "install", "--quiet", "--no-deps", "--only-binary=:all:", "--require-hashes",
        "--requirement", str(pins), "--target", str(stage / PACKAGES),
    )  # fmt: skip


def environment(name: str, root: Path) -> dict[str, str]:
    """This program's environment, in which Python finds the tool `name`."""
    return {**os.environ, "PYTHONPATH": str(root / name / PACKAGES), "PYTHONDONTWRITEBYTECODE": "1"}
