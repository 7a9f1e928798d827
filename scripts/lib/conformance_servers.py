"""The servers that the conformance suite is run against."""

import contextlib
import json
import subprocess
import tempfile
import time
import urllib.error
import urllib.request
from dataclasses import dataclass, field
from pathlib import Path

import postgresql
import processes

READY_WITHIN = 120.0
PROJECT = "conformance"


class NotServing(Exception):
    """A server that didn't start, with what it said."""


@dataclass
class Server:
    """A running server."""

    title: str
    url: str
    headers: dict[str, str] = field(default_factory=dict)

    def environment(self) -> dict[str, str]:
        """What the suite needs to reach it."""
        return {"CONFORMANCE_HEADERS": json.dumps(self.headers), "NO_PROXY": "127.0.0.1"}


@contextlib.contextmanager
def fixtures(program: Path):
    """The suite's fixtures on the product's HTTP stack; the program's first line is its URL."""
    with processes.running([program], {}) as process:
        url = process.stdout.readline().strip()
        if not url:
            raise NotServing(f"{program} ended with code {process.wait()}")
        yield Server("The suite's fixtures on the product's HTTP stack", url)


@contextlib.contextmanager
def service(program: Path):
    """The service with a database of its own, a project and one record, so that lists have entries."""
    with tempfile.TemporaryDirectory(prefix="memory-copilot-conformance-") as name:
        folder = Path(name)
        # The database's own user must be able to pass through.
        folder.chmod(0o711)
        listen = f"127.0.0.1:{postgresql.free_port()}"
        environment = {
            "MEMORY_COPILOT__DATA_DIR": str(folder / "data"),
            "MEMORY_COPILOT__SERVER__LISTEN": listen,
        }
        with open(folder / "log", "w") as log, processes.running([program, "serve"], environment, log) as process:
            wait_until_ready(f"http://{listen}", process, folder / "log")
            token = (folder / "data/token").read_text().strip()
            headers = {"authorization": f"Bearer {token}", "x-memory-copilot-project": PROJECT}
            fill(f"http://{listen}", headers)
            yield Server("The service itself", f"http://{listen}/mcp", headers)


def wait_until_ready(url: str, process: subprocess.Popen, log: Path) -> None:
    deadline = time.monotonic() + READY_WITHIN
    while not is_ready(url):
        if process.poll() is not None or time.monotonic() > deadline:
            raise NotServing(f"the service didn't get ready:\n{log.read_text()[-4000:]}")
        time.sleep(0.05)


def is_ready(url: str) -> bool:
    try:
        with opener().open(f"{url}/readyz", timeout=5) as response:
            return response.status == 200
    except (urllib.error.URLError, OSError):
        return False


def fill(url: str, headers: dict[str, str]) -> None:
    """Saves one record."""
    post(f"{url}/projects", headers, {"key": PROJECT})
    record = {
        "project_key": PROJECT,
        "kind": "gotcha",
        "title": "Units must match",
        "content": "The delay is nil while delay_unit and trigger_delay_unit differ.",
    }
    post(f"{url}/save", headers, record)


def post(url: str, headers: dict[str, str], body: dict) -> None:
    headers = {**headers, "content-type": "application/json"}
    request = urllib.request.Request(url, json.dumps(body).encode(), headers, method="POST")
    with opener().open(request) as response:
        response.read()


def opener() -> urllib.request.OpenerDirector:
    """The service is on this machine, and its token is not for a proxy."""
    return urllib.request.build_opener(urllib.request.ProxyHandler({}))
