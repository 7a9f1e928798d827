"""Where the fetched pieces live, and how one gets there whole or not at all.

A piece is a folder of the cache with a stamp file inside. It is built in a stage folder beside its
place and renamed into it, so a folder with a stamp is always complete.
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

# Where pieces go that another user must be able to reach, when the cache itself is closed to it.
SHARED_CACHE = Path("/var/cache/memory-copilot")


class SetupError(Exception):
    """A failure with the next thing to do in its message."""


def folder() -> Path:
    """The cache folder: MEMORY_COPILOT_CACHE, else memory-copilot below the user's cache folder."""
    chosen = os.environ.get("MEMORY_COPILOT_CACHE")
    if chosen:
        return Path(chosen).expanduser().absolute()
    base = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    return Path(base).expanduser().absolute() / "memory-copilot"


def server_user() -> "pwd.struct_passwd | None":
    """Who runs PostgreSQL: None for the caller itself, an unprivileged user when that is root."""
    return pwd.getpwnam("nobody") if os.geteuid() == 0 else None


def run_as(user: "pwd.struct_passwd | None") -> dict:
    """Keyword arguments that make `subprocess` run a program as `user`."""
    if user is None:
        return {}
    return {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []}


def is_open_to_all(path: Path) -> bool:
    """Whether every existing folder on the way to `path` lets other users through."""
    return all(
        stat.S_IMODE(parent.stat().st_mode) & stat.S_IXOTH
        for parent in [path, *path.parents]
        if parent.exists()
    )


def reachable(root: Path) -> Path:
    """A folder for what PostgreSQL's user must be able to read: the cache, if that is open to it."""
    return root if server_user() is None or is_open_to_all(root) else SHARED_CACHE


def bring(place: Path, stamp: dict, build) -> None:
    """Makes sure that `place` holds the piece `stamp`; `build(folder)` makes it when it doesn't."""
    if is_current(place, stamp):
        return
    place.parent.mkdir(parents=True, exist_ok=True)
    with locked(place.parent):
        if not is_current(place, stamp):
            build_staged(place, stamp, build)


def is_current(place: Path, stamp: dict) -> bool:
    """Whether `place` holds the piece that `stamp` describes."""
    try:
        return json.loads((place / STAMP).read_text()) == stamp
    except (OSError, ValueError):
        return False


@contextlib.contextmanager
def locked(folder: Path):
    """Keeps a second set-up of the same folder waiting until this one is done."""
    with open(folder / ".setup.lock", "w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            print("setup: another set-up is at work here; waiting for it", flush=True)
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def build_staged(place: Path, stamp: dict, build) -> None:
    """Builds in a folder beside `place`, stamps it, and renames it into place."""
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
    """Makes `link` a symbolic link to `target`, replacing what was there in one step."""
    if link.is_symlink() and Path(os.readlink(link)) == target:
        return
    if link.is_dir() and not link.is_symlink():
        shutil.rmtree(link)
    link.parent.mkdir(parents=True, exist_ok=True)
    fresh = link.with_name(f".{link.name}-{os.getpid()}")
    fresh.symlink_to(target)
    fresh.replace(link)
