"""A watch over a WebSocket, as browsers ask for it, spoken by hand."""

from __future__ import annotations

import base64
import json
import os
import socket
import struct
from collections.abc import Iterator
from typing import Any, BinaryIO

from kube.harness.endpoint import Endpoint
from kube.harness.gangway import GangwayCluster
from kube.harness.http import Client

CONFIG_MAPS = "/api/v1/namespaces/default/configmaps"
TEXT, CLOSE = 0x81, 0x88


def handshake(endpoint: Endpoint, path: str) -> BinaryIO:
    plain = socket.create_connection((endpoint.host, endpoint.port), timeout=20)
    connection = endpoint.tls(as_admin=True).wrap_socket(plain, server_hostname=endpoint.host)
    key = base64.b64encode(os.urandom(16)).decode()
    headers = ["Host: cluster", "Origin: https://dashboard", "Connection: Upgrade", "Upgrade: websocket",
               "Sec-WebSocket-Version: 13", f"Sec-WebSocket-Key: {key}"]  # fmt: skip
    connection.sendall("\r\n".join([f"GET {path} HTTP/1.1", *headers, "", ""]).encode())
    stream = connection.makefile("rb")
    assert stream.readline().split()[1] == b"101"
    while stream.readline().strip():
        pass
    return stream


def frames(stream: BinaryIO) -> Iterator[tuple[int, bytes]]:
    while head := stream.read(2):
        opcode, size = head
        if size == 126:
            (size,) = struct.unpack(">H", stream.read(2))
        elif size == 127:
            (size,) = struct.unpack(">Q", stream.read(8))
        yield opcode, stream.read(size)


def event(frame: tuple[int, bytes]) -> tuple[str, str]:
    opcode, payload = frame
    assert opcode == TEXT
    value: dict[str, Any] = json.loads(payload)
    return value["type"], value["object"]["metadata"]["name"]


def test_events_are_messages(gangway: GangwayCluster) -> None:
    client = Client(gangway.endpoint)
    name = {"metadata": {"name": "seen-over-websocket"}}
    since = client.must("GET", CONFIG_MAPS)["metadata"]["resourceVersion"]
    query = f"?watch=1&resourceVersion={since}&timeoutSeconds=5&fieldSelector=metadata.name%3Dseen-over-websocket"
    incoming = frames(handshake(gangway.endpoint, CONFIG_MAPS + query))
    assert client.call("POST", CONFIG_MAPS, name).status == 201
    assert event(next(incoming)) == ("ADDED", "seen-over-websocket")
    assert client.call("DELETE", f"{CONFIG_MAPS}/seen-over-websocket").status == 200
    assert event(next(incoming)) == ("DELETED", "seen-over-websocket")
    # Its time is over.
    assert next(incoming) == (CLOSE, struct.pack(">H", 1000))
