"""The cache of fetched pieces, to which each piece is added completely or not at all.

A piece is a directory of the cache with a stamp file. It is built in a stage directory next to its
final path and then renamed, so a directory with a stamp is always complete.
"""

import contextlib
import fcntl
import json
import os
import pwd
import shutil
import stat
import tempfile
from pathlib import Path

STAMP = ".stamp.json"

# Directory of pieces that another user must be able to read, if that user can't read the cache.
SHARED_CACHE = Path("/var/cache/memory-copilot")


class SetupError(Exception):
    """A failure whose message says what to do next."""


def folder() -> Path:
    """Returns MEMORY_COPILOT_CACHE, else memory-copilot in the user's cache directory."""
    chosen = os.environ.get("MEMORY_COPILOT_CACHE")
    if chosen:
        return Path(chosen).expanduser().absolute()
    base = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    return Path(base).expanduser().absolute() / "memory-copilot"


def server_user() -> "pwd.struct_passwd | None":
    """Returns the user who runs PostgreSQL: an unprivileged one for root, else None for the caller."""
    return pwd.getpwnam("nobody") if os.geteuid() == 0 else None


def run_as(user: "pwd.struct_passwd | None") -> dict:
    """Returns keyword arguments with which `subprocess` runs a program as `user`."""
    if user is None:
        return {}
    return {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []}


def is_open_to_all(path: Path) -> bool:
    """Returns whether other users can pass through every existing directory of `path`."""
    return all(
        stat.S_IMODE(parent.stat().st_mode) & stat.S_IXOTH
        for parent in [path, *path.parents]
        if parent.exists()
    )


def reachable(root: Path) -> Path:
    """Returns the cache if PostgreSQL's user can read it, else the shared cache."""
    return root if server_user() is None or is_open_to_all(root) else SHARED_CACHE


def bring(place: Path, stamp: dict, build) -> None:
    """Ensures that `place` has the piece of `stamp`. Calls `build(folder)` if it has not."""
    if is_current(place, stamp):
        return
    place.parent.mkdir(parents=True, exist_ok=True)
    with locked(place.parent):
        if not is_current(place, stamp):
            build_staged(place, stamp, build)


def is_current(place: Path, stamp: dict) -> bool:
    """Returns whether `place` has the piece that `stamp` describes."""
    try:
        return json.loads((place / STAMP).read_text()) == stamp
    except (OSError, ValueError):
        return False


@contextlib.contextmanager
def locked(folder: Path):
    """Locks a directory, so that a second setup of it waits for this one."""
    with open(folder / ".setup.lock", "w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            print("setup: waiting for another setup of the same directory", flush=True)
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def build_staged(place: Path, stamp: dict, build) -> None:
    """Builds in a directory next to `place`, adds the stamp, and renames the directory to `place`."""
    prefix = f".stage-{place.name}-"
    for abandoned in place.parent.glob(f"{prefix}*"):
        shutil.rmtree(abandoned, ignore_errors=True)
    with tempfile.TemporaryDirectory(prefix=prefix, dir=place.parent) as folder:
        stage = Path(folder)
        stage.chmod(0o755)
        result = stage / "result"
        result.mkdir()
        build(result)
        (result / STAMP).write_text(json.dumps(stamp, indent=2) + "\n")
        if place.exists():
            place.rename(stage / "previous")
        result.rename(place)


def point(link: Path, target: Path) -> None:
    """Makes `link` a symbolic link to `target`, and replaces an earlier one atomically."""
    if link.is_symlink() and Path(os.readlink(link)) == target:
        return
    if link.is_dir() and not link.is_symlink():
        shutil.rmtree(link)
    link.parent.mkdir(parents=True, exist_ok=True)
    fresh = link.with_name(f".{link.name}-{os.getpid()}")
    fresh.symlink_to(target)
    fresh.replace(link)
