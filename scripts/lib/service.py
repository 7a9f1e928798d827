"""A temporary service with its own database."""

import contextlib
import json
import subprocess
import tempfile
import time
import urllib.error
import urllib.request
from dataclasses import dataclass
from pathlib import Path

import postgresql
import processes

READY_WITHIN = 120.0


class NotServing(Exception):
    """A server that did not start, with its output."""


@dataclass
class Service:
    """A running service: its URL, its local token, and its temporary directory."""

    url: str
    token: str
    folder: Path

    def headers(self) -> dict[str, str]:
        """Returns the headers that authenticate a request."""
        return {"authorization": f"Bearer {self.token}"}

    def get(self, path: str) -> dict:
        """Returns the response to `GET path`."""
        return answer(urllib.request.Request(self.url + path, headers=self.headers()))

    def post(self, path: str, body: dict) -> dict:
        """Sends `body` as JSON and returns the response, or an empty one."""
        headers = {**self.headers(), "content-type": "application/json"}
        return answer(urllib.request.Request(self.url + path, json.dumps(body).encode(), headers, method="POST"))


def answer(request: urllib.request.Request) -> dict:
    with opener().open(request) as response:
        return json.loads(response.read() or b"{}")


@contextlib.contextmanager
def running(program: Path, settings: dict[str, str] | None = None):
    """Starts `program serve` on a free loopback port, with `settings` in its environment."""
    with tempfile.TemporaryDirectory(prefix="memory-copilot-service-") as name:
        folder = Path(name)
        # The user of the database must be able to pass through the directory.
        folder.chmod(0o711)
        listen = f"127.0.0.1:{postgresql.free_port()}"
        environment = {
            "MEMORY_COPILOT__DATA_DIR": str(folder / "data"),
            "MEMORY_COPILOT__SERVER__LISTEN": listen,
            **(settings or {}),
        }
        with open(folder / "log", "w") as log, processes.running([program, "serve"], environment, log) as process:
            wait_until_ready(f"http://{listen}", process, folder / "log")
            token = (folder / "data/token").read_text().strip()
            yield Service(f"http://{listen}", token, folder)


def wait_until_ready(url: str, process: subprocess.Popen, log: Path) -> None:
    deadline = time.monotonic() + READY_WITHIN
    while not is_ready(url):
        if process.poll() is not None or time.monotonic() > deadline:
            raise NotServing(f"the service did not become ready:\n{log.read_text()[-4000:]}")
        time.sleep(0.05)


def is_ready(url: str) -> bool:
    try:
        with opener().open(f"{url}/readyz", timeout=5) as response:
            return response.status == 200
    except (urllib.error.URLError, OSError):
        return False


def opener() -> urllib.request.OpenerDirector:
    """Returns an opener without proxies: no proxy should see the token."""
    return urllib.request.build_opener(urllib.request.ProxyHandler({}))
