"""mcp-memory-service over HTTP.

Variants: `rest` as it comes, which declines notes that it takes for duplicates by their vectors; `all`
with that switched off; `hybrid` like `all`, but searched by its MCP tool in hybrid mode.
"""

import re
import sys
from dataclasses import dataclass
from importlib import metadata

import servers
from http_json import Connection
from systems import Refused, Setting

# "1. Decision E0001: ..." in the text that the MCP tool answers.
RESULT = re.compile(r"^\d+\. (.*)$", re.MULTILINE)


@dataclass
class Service:
    """The running service."""

    setting: Setting
    server: servers.Server
    port: int

    def client(self) -> "Client":
        return Client(Connection(self.port), self.setting.variant == "hybrid")

    def count(self) -> int:
        return Connection(self.port).get("/api/memories?page_size=1")["total"]

    def memory(self) -> dict:
        return self.server.memory()

    def version(self) -> str:
        [package] = metadata.distributions(name="mcp-memory-service", path=[str(self.setting.packages)])
        return package.version

    def stop(self) -> None:
        self.server.stop()


class Client:
    """`/api/memories`, and `/api/search` or the tool `memory_search`."""

    def __init__(self, connection: Connection, hybrid: bool) -> None:
        self._connection = connection
        self.search = self._hybrid if hybrid else self._semantic
        self.close = connection.close

    def write(self, text: str) -> None:
        answer = self._connection.post("/api/memories", {"content": text, "memory_type": "decision"})
        if not answer["success"]:
            raise Refused(answer["message"])

    def _semantic(self, question: str, wanted: int) -> list[str]:
        answer = self._connection.post("/api/search", {"query": question, "n_results": wanted})
        return [result["memory"]["content"] for result in answer["results"]]

    def _hybrid(self, question: str, wanted: int) -> list[str]:
        arguments = {"query": question, "mode": "hybrid", "limit": wanted}
        call = {"name": "memory_search", "arguments": arguments}
        request = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call}
        answer = self._connection.post("/mcp", request)
        return RESULT.findall(answer["result"]["content"][0]["text"])


def start(setting: Setting) -> Service:
    port = servers.free_port()
    environment = {
        "PYTHONPATH": str(setting.packages),
        "MCP_MEMORY_BASE_DIR": str(setting.place),
        "MCP_MEMORY_STORAGE_BACKEND": "sqlite_vec",
        "MCP_ALLOW_ANONYMOUS_ACCESS": "true",
        "MCP_MDNS_ENABLED": "false",
        "MCP_SEMANTIC_DEDUP_ENABLED": "true" if setting.variant == "rest" else "false",
        "MCP_EXTERNAL_EMBEDDING_URL": f"{setting.endpoint}/embeddings",
        "MCP_EXTERNAL_EMBEDDING_MODEL": setting.model,
    }
    command = [
        sys.executable, "-m", "mcp_memory_service.cli.main",
        "server", "--http", "--http-port", port,
    ]  # fmt: skip
    url = f"http://127.0.0.1:{port}/api/health"
    server = servers.start(command, setting.place, environment, url)
    return Service(setting, server, port)
