"""The servers that the conformance suite is run against."""

import contextlib
import json
from dataclasses import dataclass, field
from pathlib import Path

import processes
import service as services
from service import NotServing

PROJECT = "conformance"


@dataclass
class Server:
    """A running server."""

    title: str
    url: str
    headers: dict[str, str] = field(default_factory=dict)

    def environment(self) -> dict[str, str]:
        """Returns the environment by which the suite reaches the server."""
        return {"CONFORMANCE_HEADERS": json.dumps(self.headers), "NO_PROXY": "127.0.0.1"}


@contextlib.contextmanager
def fixtures(program: Path):
    """Runs the suite's fixtures on the product's HTTP stack. The program prints its URL first."""
    with processes.running([program], {}) as process:
        url = process.stdout.readline().strip()
        if not url:
            raise NotServing(f"{program} ended with code {process.wait()}")
        yield Server("The suite's fixtures on the product's HTTP stack", url)


@contextlib.contextmanager
def service(program: Path):
    """Runs the service with its own database, a project and one record, so that lists have entries."""
    with services.running(program) as running:
        running.post("/projects", {"key": PROJECT})
        record = {
            "project_key": PROJECT,
            "kind": "gotcha",
            "title": "Units must match",
            "content": "The delay is nil while delay_unit and trigger_delay_unit differ.",
        }
        running.post("/save", record)
        headers = {**running.headers(), "x-memory-copilot-project": PROJECT}
        yield Server("The service itself", f"{running.url}/mcp", headers)
