"""JSON over one connection that is kept open."""

import http.client
import json
import socket

TIMEOUT_SECONDS = 60.0


class Connection:
    """One client's connection to a server on this machine."""

    def __init__(self, port: int, headers: dict | None = None) -> None:
        self._http = http.client.HTTPConnection("127.0.0.1", port, timeout=TIMEOUT_SECONDS)
        self._headers = {"Content-Type": "application/json", **(headers or {})}

    def post(self, path: str, body: dict) -> dict:
        """What the server answers; anything but success is an error."""
        return self._ask("POST", path, json.dumps(body).encode())

    def get(self, path: str) -> dict:
        """What the server answers; anything but success is an error."""
        return self._ask("GET", path, None)

    def close(self) -> None:
        """Lets go of the connection."""
        self._http.close()

    def _ask(self, method: str, path: str, body: bytes | None) -> dict:
        if self._http.sock is None:
            self._http.connect()
            # Head and body are two writes: together with delayed acknowledgements that costs 40 ms.
            self._http.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._http.request(method, path, body, self._headers)
        response = self._http.getresponse()
        content = response.read()
        if response.status not in (200, 201):
            raise RuntimeError(f"{method} {path} answered {response.status}: {content[:300]!r}")
        return json.loads(content)
