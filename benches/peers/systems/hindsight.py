"""Hindsight over REST, with its embedded PostgreSQL and without a language model."""

import os
import sys
from dataclasses import dataclass
from importlib import metadata

import cache
import servers
from http_json import Connection
from systems import Setting

BANK = "/v1/default/banks/bench"


@dataclass
class Hindsight:
    """The running service."""

    setting: Setting
    server: servers.Server
    port: int

    def client(self) -> "Client":
        return Client(Connection(self.port))

    def count(self) -> int:
        return Connection(self.port).get(f"{BANK}/memories/list?limit=1")["total"]

    def memory(self) -> dict:
        return self.server.memory()

    def version(self) -> str:
        [package] = metadata.distributions(name="hindsight-api-slim", path=[str(self.setting.packages)])
        return package.version

    def stop(self) -> None:
        self.server.stop()


class Client:
    """Retain, which waits for its result, and recall."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self.close = connection.close

    def write(self, text: str) -> None:
        answer = self._connection.post(f"{BANK}/memories", {"items": [{"content": text}], "async": False})
        if not answer["success"]:
            raise RuntimeError(str(answer))

    def search(self, question: str, wanted: int) -> list[str]:
        answer = self._connection.post(f"{BANK}/memories/recall", {"query": question, "budget": "low"})
        return [result["text"] for result in answer["results"][:wanted]]


def start(setting: Setting) -> Hindsight:
    user = cache.server_user()
    if user is not None:
        # Its PostgreSQL refuses root, so all of it runs as another user.
        os.chown(setting.place, user.pw_uid, user.pw_gid)
    port = servers.free_port()
    environment = {
        "PYTHONPATH": str(setting.packages),
        "HINDSIGHT_API_HOST": "127.0.0.1",
        "HINDSIGHT_API_PORT": str(port),
        "HINDSIGHT_API_DATABASE_URL": f"pg0://bench:{servers.free_port()}",
        "HINDSIGHT_API_WORKER_ID": "bench",
        "HINDSIGHT_API_LLM_PROVIDER": "none",
        "HINDSIGHT_API_RERANKER_PROVIDER": "rrf",
        "HINDSIGHT_API_EMBEDDINGS_PROVIDER": "openai",
        "HINDSIGHT_API_EMBEDDINGS_OPENAI_BASE_URL": setting.endpoint,
        "HINDSIGHT_API_EMBEDDINGS_OPENAI_MODEL": setting.model,
        "HINDSIGHT_API_EMBEDDINGS_OPENAI_API_KEY": "none",
    }
    command = [sys.executable, "-m", "hindsight_api.main"]
    url = f"http://127.0.0.1:{port}/health"
    server = servers.start(command, setting.place, environment, url, unprivileged=True)
    return Hindsight(setting, server, port)
