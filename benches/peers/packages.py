"""The peers' packages in the cache, and a Python that can run them."""

import shutil
import subprocess
import sys
from pathlib import Path

import cache
import wheels

REQUIREMENTS = Path(__file__).resolve().parent / "requirements"

# Checks a Python for the peers: it must have a pinned version and load SQLite extensions
# (mcp-memory-service), and the user that runs PostgreSQL must be able to run it (Hindsight).
CHECK = """
import sqlite3, sys
fits = (3, 11) <= sys.version_info[:2] <= (3, 14)
print("%d.%d" % sys.version_info[:2] if fits and hasattr(sqlite3.Connection, "enable_load_extension") else "")
"""


def python(chosen: str | None) -> tuple[str, str]:
    """Returns a Python for the peers, and its version: the chosen one, else the first suitable one."""
    names = ["python3", "python3.14", "python3.13", "python3.12", "python3.11"]
    found = [sys.executable, "/usr/bin/python3", *filter(None, map(shutil.which, names))]
    for candidate in [chosen] if chosen else found:
        version = fitting_version(candidate)
        if version:
            return candidate, version
    tried = chosen or ", ".join(dict.fromkeys(found))
    raise cache.SetupError(
        f"no suitable Python for the peers among {tried}\n  next step: install Python 3.11 to 3.14 with "
        "support for SQLite extensions, in a directory that other users can read, and set PEERS_PYTHON"
    )


def fitting_version(candidate: str) -> str | None:
    """Returns the version of a suitable Python, else None."""
    try:
        answer = subprocess.run(
            [candidate, "-c", CHECK],
            cwd="/",
            capture_output=True,
            text=True,
            **cache.run_as(cache.server_user()),
        )
    except OSError:
        return None
    return answer.stdout.strip() or None


def install(name: str, interpreter: str, version: str) -> Path:
    """Brings a peer's packages into the cache; returns the folder to name in PYTHONPATH."""
    root = cache.folder()
    home = cache.reachable(root)
    if home != root:
        cache.point(root / "peers", home / "peers")
    requirements = REQUIREMENTS / f"{name}.txt"
    place = home / "peers" / name
    stamp = {"requirements": wheels.digest(requirements), "python": version}
    cache.bring(place, stamp, lambda stage: fetch(requirements, interpreter, stage))
    return place


def fetch(requirements: Path, interpreter: str, stage: Path) -> None:
    """Fetches what the requirements pin, for the interpreter that will run it."""
    print(f"bench-peers: fetching the packages of {requirements.stem}", flush=True)
    # Not a virtual environment, since Debian's Python has no `venv`.
    wheels.pip(
        "--python", interpreter, "install", "--quiet", "--no-deps", "--only-binary=:all:",
        "--require-hashes", "--requirement", str(requirements), "--target", str(stage),
    )  # fmt: skip
