"""Memory Copilot over REST: with its built-in model, or with the endpoint that the others use."""

import subprocess
from dataclasses import dataclass

import servers
from http_json import Connection
from systems import Refused, Setting

PROJECT = "bench"


@dataclass
class Ours:
    """The running service."""

    setting: Setting
    server: servers.Server
    port: int

    def client(self) -> "Client":
        return Client(self._connect())

    def count(self) -> int:
        return self._connect().get(f"/projects/{PROJECT}")["records"]

    def memory(self) -> dict:
        return self.server.memory()

    def version(self) -> str:
        command = [self.setting.binary, "--version"]
        return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout.split()[-1]

    def stop(self) -> None:
        self.server.stop()

    def _connect(self) -> Connection:
        token = (self.setting.place / "data" / "token").read_text().strip()
        return Connection(self.port, {"Authorization": f"Bearer {token}"})


class Client:
    """`/save` and `/recall`."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self.close = connection.close

    def write(self, text: str) -> None:
        body = {"project_key": PROJECT, "kind": "fact", "content": text}
        answer = self._connection.post("/save", body)
        if answer["outcome"] != "created":
            raise Refused(f"{answer['message']}: {answer['reason']}")

    def search(self, question: str, wanted: int) -> list[str]:
        bundle = self._connection.post("/recall", {"project_key": PROJECT, "query": question})
        return [fact["text"] for fact in bundle["facts"][:wanted]]


def start(setting: Setting) -> Ours:
    port = servers.free_port()
    environment = {
        "MEMORY_COPILOT_CACHE": str(setting.cache),
        "MEMORY_COPILOT__DATA_DIR": str(setting.place / "data"),
        "MEMORY_COPILOT__SERVER__LISTEN": f"127.0.0.1:{port}",
        "MEMORY_COPILOT__LOG__LEVEL": "warn",
    }
    if setting.variant == "endpoint":
        environment |= {
            "MEMORY_COPILOT__EMBEDDING__PROVIDER": "openai",
            "MEMORY_COPILOT__EMBEDDING__BASE_URL": setting.endpoint,
            "MEMORY_COPILOT__EMBEDDING__MODEL": setting.model,
            "MEMORY_COPILOT__EMBEDDING__DIMENSIONS": str(setting.dimensions),
        }
    url = f"http://127.0.0.1:{port}/readyz"
    server = servers.start([setting.binary, "serve"], setting.place, environment, url)
    ours = Ours(setting, server, port)
    ours._connect().post("/projects", {"key": PROJECT})
    return ours
