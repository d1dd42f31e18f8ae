"""One keep-alive HTTPS connection per user, for JSON requests and for watches."""

from __future__ import annotations

import http.client
import json
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from .endpoint import Endpoint
from .processes import wait_for

USER_AGENT = "comparison/1"


@dataclass(frozen=True)
class Response:
    status: int
    headers: Mapping[str, str]
    warnings: list[str]
    content: bytes

    def json(self) -> Any:
        return json.loads(self.content)


@dataclass
class Client:
    """Not thread-safe; make one per thread. A token replaces the endpoint's own credentials."""

    endpoint: Endpoint
    token: str | None = None
    anonymous: bool = False
    timeout: float = 60.0
    _connection: http.client.HTTPSConnection | None = field(default=None, repr=False)

    def _connect(self) -> http.client.HTTPSConnection:
        as_admin = self.token is None and not self.anonymous
        context = self.endpoint.tls(as_admin)
        return http.client.HTTPSConnection(
            self.endpoint.host, self.endpoint.port, timeout=self.timeout, context=context
        )

    def _headers(self, extra: Mapping[str, str]) -> dict[str, str]:
        headers = {"User-Agent": USER_AGENT, "Accept": "application/json"}
        token = None if self.anonymous else (self.token or self.endpoint.token)
        if token:
            headers["Authorization"] = f"Bearer {token}"
        return headers | dict(extra)

    def request(
        self, method: str, path: str, body: bytes | None = None, headers: Mapping[str, str] | None = None
    ) -> Response:
        """Sends on the kept connection; a connection that the server closed while idle is replaced once."""
        for last_try in (False, True):
            reused = self._connection is not None
            if self._connection is None:
                self._connection = self._connect()
            try:
                self._connection.request(method, path, body=body, headers=self._headers(headers or {}))
                answer = self._connection.getresponse()
                content = answer.read()
            except (http.client.HTTPException, OSError):
                self.close()
                if last_try or not reused:
                    raise
                continue
            if answer.will_close:
                self.close()
            found = answer.headers.get_all("Warning") or []
            return Response(answer.status, dict(answer.headers.items()), found, content)
        raise AssertionError("unreachable")

    def call(self, method: str, path: str, body: Any = None, content_type: str = "application/json") -> Response:
        data = None if body is None else json.dumps(body, separators=(",", ":")).encode()
        return self.request(method, path, data, {"Content-Type": content_type} if data is not None else {})

    def must(self, method: str, path: str, body: Any = None, content_type: str = "application/json") -> Any:
        """The decoded answer of a request that has to succeed."""
        response = self.call(method, path, body, content_type)
        if not 200 <= response.status < 300:
            raise RuntimeError(f"{method} {path}: {response.status} {response.content[:500]!r}")
        return response.json()

    def stream(
        self, path: str, seconds: float, headers: Mapping[str, str] | None = None
    ) -> tuple[Response, Iterator[Any]]:
        """Opens a watch on a connection of its own. The iterator ends with the stream or after the given time."""
        connection = self._connect()
        connection.timeout = seconds
        connection.request("GET", path, headers=self._headers(headers or {}))
        answer = connection.getresponse()
        found = answer.headers.get_all("Warning") or []
        content = answer.read() if answer.status != 200 else b""
        response = Response(answer.status, dict(answer.headers.items()), found, content)
        return response, _lines(connection, answer, time.monotonic() + seconds)

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None


def _lines(
    connection: http.client.HTTPSConnection, answer: http.client.HTTPResponse, deadline: float
) -> Iterator[Any]:
    try:
        while answer.status == 200 and time.monotonic() < deadline:
            connection.sock.settimeout(max(0.01, deadline - time.monotonic()))
            try:
                line = answer.readline()
            except TimeoutError:
                return
            if not line:
                return
            if line.strip():
                yield json.loads(line)
    finally:
        answer.close()
        connection.close()


def serve_definition(client: Client, definition: dict[str, Any]) -> None:
    """Creates a CustomResourceDefinition and waits until its objects can be listed."""
    client.must("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", definition)
    spec = definition["spec"]
    path = f"/apis/{spec['group']}/{spec['versions'][0]['name']}/{spec['names']['plural']}"
    wait_for(f"{path} served", lambda: client.call("GET", path).status == 200)
