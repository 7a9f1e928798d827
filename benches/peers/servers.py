"""Servers of a run: started in a folder of their own, measured there, and ended for certain."""

import os
import re
import signal
import socket
import subprocess
import time
import urllib.error
import urllib.request
from dataclasses import dataclass
from pathlib import Path

import cache

PATIENCE_SECONDS = 120.0
STOP_SECONDS = 30.0
LOG_LINES = 12

# Whatever a peer would fetch from a hub it has to do without; nothing is to go through a proxy.
OFFLINE = {
    "HF_HUB_OFFLINE": "1",
    "TRANSFORMERS_OFFLINE": "1",
    "HF_DATASETS_OFFLINE": "1",
    "NO_PROXY": "*",
    "no_proxy": "*",
}

_direct = urllib.request.build_opener(urllib.request.ProxyHandler({}))


class Failure(Exception):
    """Why a system could not be measured, in words for the report."""


@dataclass
class Server:
    """A process that listens, and the folder that it and its helpers work in."""

    process: subprocess.Popen
    place: Path

    def stop(self) -> None:
        """Asks it to end, and ends what it leaves behind in its folder."""
        self.process.terminate()
        try:
            self.process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        sweep(self.place)

    def memory(self) -> dict:
        """Megabytes: the server's resident set, and the share of its helpers (its database)."""
        helpers = [pid for pid in processes_in(self.place) if pid != self.process.pid]
        return {
            "rss_mb": megabytes(self.process.pid, "Rss"),
            # What several processes share, such as a database's buffers, is counted once.
            "helpers_mb": sum(megabytes(pid, "Pss") for pid in helpers),
        }


def start(command: list, place: Path, environment: dict, ready_url: str, unprivileged=False) -> Server:
    """Starts a server in `place` and waits until `ready_url` answers 200."""
    user = cache.server_user() if unprivileged else None
    log = place / "server.log"
    with open(log, "ab") as output:
        process = subprocess.Popen(
            [str(part) for part in command],
            cwd=place,
            env={"PATH": os.environ["PATH"], "LANG": "C.UTF-8", "HOME": str(place), **OFFLINE, **environment},
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            **cache.run_as(user),
        )
    server = Server(process, place)
    until = time.monotonic() + PATIENCE_SECONDS
    while not answers(ready_url):
        ended = process.poll() is not None
        if ended or time.monotonic() > until:
            server.stop()
            why = f"ended with code {process.returncode}" if ended else "was not ready in time"
            raise Failure(f"the server {why}: {tail(log)}")
        time.sleep(0.02)
    return server


def answers(url: str) -> bool:
    """Whether something answers 200 there."""
    try:
        with _direct.open(url, timeout=5) as response:
            return response.status == 200
    except (urllib.error.URLError, OSError):
        return False


def free_port() -> int:
    """A port of the loopback that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def processes_in(place: Path) -> list[int]:
    """The processes that work in a folder or below it."""
    found = []
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            where = Path(os.readlink(entry / "cwd"))
        except OSError:
            continue
        if where.is_relative_to(place):
            found.append(int(entry.name))
    return found


def sweep(place: Path) -> None:
    """Ends what still works in a run's folder: a database that outlived its server."""
    until = time.monotonic() + STOP_SECONDS
    sent = signal.SIGTERM
    while left := processes_in(place):
        for pid in left:
            try:
                os.kill(pid, sent)
            except ProcessLookupError:
                continue
        time.sleep(0.2)
        if time.monotonic() > until:
            sent = signal.SIGKILL


def megabytes(pid: int, field: str) -> float:
    """`Rss` or `Pss` of a process; 0 when it has ended."""
    try:
        text = Path(f"/proc/{pid}/smaps_rollup").read_text()
    except OSError:
        return 0.0
    match = re.search(rf"^{field}:\s+(\d+) kB", text, re.MULTILINE)
    return int(match.group(1)) / 1024 if match else 0.0


def tail(log: Path) -> str:
    """The last lines of a log, on one line."""
    lines = log.read_text(errors="replace").split("\n")
    return " | ".join(line.strip() for line in lines if line.strip())[-LOG_LINES * 80 :]
