"""Test tools written in Python, each in its own directory for PYTHONPATH."""

import os
import sys
from functools import partial
from pathlib import Path

import cache
import wheels


# By this name, hypothesis tells libraries from code under test, which it would scan at each start.
PACKAGES = "site-packages"


def schemathesis(root: Path) -> str:
    """Brings schemathesis into the cache."""
    return install("schemathesis", root)


def rlsautotest(root: Path) -> str:
    """Brings rlsautotest into the cache."""
    return install("rlsautotest", root)


def install(name: str, root: Path) -> str:
    """Brings the wheels that `requirements/<name>.txt` pins into the cache directory `name`."""
    place, pins = root / name, wheels.requirements(name)
    # Some wheels are compiled for one version of Python.
    stamp = {"requirements": wheels.digest(pins), "python": list(sys.version_info[:2]), "in": PACKAGES}
    cache.bring(place, stamp, partial(fetch, pins))
    return f"{name} for the tests in {place}"


def fetch(pins: Path, stage: Path) -> None:
    """Fetches the packages of `pins`."""
    wheels.pip(
        "install", "--quiet", "--no-deps", "--only-binary=:all:", "--require-hashes",
        "--requirement", str(pins), "--target", str(stage / PACKAGES),
    )  # fmt: skip


def environment(name: str, root: Path) -> dict[str, str]:
    """Returns this program's environment, in which Python finds the tool `name`."""
    return {**os.environ, "PYTHONPATH": str(root / name / PACKAGES), "PYTHONDONTWRITEBYTECODE": "1"}
