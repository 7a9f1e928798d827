"""The systems under comparison, one module each, with the same small interface.

A module has `start(setting)`, which answers with a running system. That one has

- `client()`: a client with a connection of its own, with `write(text)`, which returns when the system
  has acknowledged the note and raises `Refused` when it declines, `search(question, wanted)`, which
  returns at most so many texts, best first, and `close()`;
- `count()`: how many notes it says it holds;
- `memory()`: megabytes it takes, as `servers.Server.memory` has them;
- `version()`;
- `stop()`.

Starting it again with the same setting finds what was written before.
"""

from dataclasses import dataclass
from importlib import import_module
from pathlib import Path

class Refused(Exception):
    """The system answered that it does not keep the note."""


@dataclass(frozen=True)
class Setting:
    """What a system is started with."""

    # An empty folder of its own, which other users may pass through.
    place: Path
    # The embedding endpoint up to `/v1`, the model's name there, and the size of its vectors.
    endpoint: str
    model: str
    dimensions: int
    # Our service's program, and the cache that `make setup` filled.
    binary: Path
    cache: Path
    # The folder with the system's packages, where it is one for Python.
    packages: Path | None
    # Which of the variants that the module offers.
    variant: str


@dataclass(frozen=True)
class System:
    """A row of the table."""

    title: str
    module: str
    variant: str = ""
    # The requirements file its packages come from; our own service needs none.
    packages: str | None = None

    def start(self, setting: Setting):
        """Starts it and waits until it is ready."""
        return import_module(f"systems.{self.module}").start(setting)


ALL = {
    "ours": System("Memory Copilot, built-in model", "ours", "built-in"),
    "ours-endpoint": System("Memory Copilot, endpoint", "ours", "endpoint"),
    "mcp-memory-service": System(
        "mcp-memory-service, REST", "mcp_memory_service", "rest", "mcp-memory-service"
    ),
    "mcp-memory-service-all": System(
        "mcp-memory-service, REST, dedup off", "mcp_memory_service", "all", "mcp-memory-service"
    ),
    "mcp-memory-service-hybrid": System(
        "mcp-memory-service, MCP hybrid, dedup off", "mcp_memory_service", "hybrid", "mcp-memory-service"
    ),
    "hindsight": System("Hindsight, no LLM, rrf", "hindsight", packages="hindsight"),
    "mem0-qdrant": System("mem0, qdrant local, in process", "mem0ai", "qdrant", "mem0"),
    "mem0-faiss": System("mem0, faiss, in process", "mem0ai", "faiss", "mem0"),
}
