"""Takes out of an answer what differs between any two servers: identities, times, addresses, secrets.

Identities are numbered in the order in which they appear, not blanked: an owner reference still has to name the right
uid, and an update that changed nothing still has to keep its resource version.
"""

from __future__ import annotations

import re
from typing import Any

from .execution import Answer

UUID = re.compile(r"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b")
TIME = re.compile(r"\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z")
HOST_PORT = re.compile(r"\b127\.0\.0\.1:\d+\b")
CLUSTER_IP = re.compile(r"\b10\.\d+\.\d+\.\d+\b")
CERTIFICATE = re.compile(r"-----BEGIN CERTIFICATE-----.*?-----END CERTIFICATE-----\n?", re.DOTALL)
TOKEN = re.compile(r"\beyJ[\w-]+\.[\w-]+\.[\w-]+")
GENERATED = re.compile(r"\b(kube-api-access-)[a-z0-9]{5}\b")
NODE_PORT = re.compile(r"\b(\d+):3\d{4}/")
AGE = re.compile(r"(\d+[smhdy])+|<invalid>")
AGE_COLUMNS = ("Age", "Last Seen", "First Seen", "Duration")
VERSIONS_IN_TEXT = re.compile(r"(current: |too old resource version: \d+ )\(?\d+\)?")

# Several causes in one message come in the order of a Go map's keys, a new one each time; `details` has them in full.
MANY_CAUSES = re.compile(r"( is invalid: )\[.*\]$", re.DOTALL)

# Written by the servers' own parts, under names that differ; what a client wrote is compared.
SYSTEM_MANAGERS = re.compile(r"kube-.*|gangway.*|clusterrole-.*|.*-controller")


class Normaliser:
    """One per server and case, so that numbering starts afresh on both sides together."""

    def __init__(self) -> None:
        self._numbers: dict[str, dict[str, str]] = {}
        self._generated: dict[str, str] = {}
        self._columns: list[dict[str, Any]] = []

    def answer(self, answer: Answer) -> dict[str, Any]:
        body = answer.body
        self._learn_generated_names(body)
        self._columns = []
        return {
            "status": answer.status,
            "contentType": answer.content_type.replace(" ", ""),
            "warnings": [self._text(w) for w in answer.warnings],
            "body": self._value(body),
        }

    def _number(self, family: str, raw: str) -> str:
        seen = self._numbers.setdefault(family, {})
        return seen.setdefault(raw, f"<{family}:{len(seen) + 1}>")

    def _learn_generated_names(self, value: Any) -> None:
        if isinstance(value, list):
            for item in value:
                self._learn_generated_names(item)
        if not isinstance(value, dict):
            return
        name, prefix = value.get("name"), value.get("generateName")
        if isinstance(name, str) and isinstance(prefix, str) and prefix and name.startswith(prefix):
            self._generated.setdefault(name, f"{prefix}<generated:{len(self._generated) + 1}>")
        for item in value.values():
            self._learn_generated_names(item)

    def _text(self, text: str) -> str:
        for raw, name in self._generated.items():
            text = text.replace(raw, name)
        text = UUID.sub(lambda m: self._number("uid", m[0]), text)
        text = TIME.sub("<time>", text)
        text = HOST_PORT.sub("<address>", text)
        text = CLUSTER_IP.sub(lambda m: self._number("ip", m[0]), text)
        text = TOKEN.sub("<token>", text)
        text = CERTIFICATE.sub("<certificate>", text)
        text = MANY_CAUSES.sub(r"\1[<causes>]", text)
        text = VERSIONS_IN_TEXT.sub(r"\1<version>", text)
        text = NODE_PORT.sub(r"\1:<port>/", text)
        return GENERATED.sub(r"\1<generated>", text)

    def _value(self, value: Any) -> Any:
        if isinstance(value, str):
            return self._text(value)
        if isinstance(value, list):
            return [self._value(item) for item in value]
        if not isinstance(value, dict):
            return value
        if value.get("kind") == "Table":
            value = self._without_ages(value)
        is_list = str(value.get("kind", "")).endswith(("List", "Table"))
        # In one order on both sides: a client's own order of fields may have been kept or not.
        return {self._text(key): self._field(key, value[key], is_list) for key in sorted(value)}

    def _field(self, key: str, value: Any, in_list: bool) -> Any:
        if key == "metadata" and isinstance(value, dict):
            return self._metadata(value, in_list)
        if key == "nodePort" and isinstance(value, int):
            return self._number("port", str(value))
        if key == "storageVersionHash":
            return "<hash>"
        if key == "kubernetes.io/description":
            return "<text>"  # each server describes its objects in its own words
        return self._value(value)

    def _metadata(self, metadata: dict[str, Any], of_list: bool) -> dict[str, Any]:
        result = {}
        for key, value in sorted(metadata.items()):
            if key == "resourceVersion" and value:
                result[key] = "<version>" if of_list else self._number("version", value)
            elif key == "continue" and value:
                result[key] = "<continue>"
            elif key == "managedFields" and isinstance(value, list):
                kept = [e for e in value if not SYSTEM_MANAGERS.fullmatch(str(e.get("manager", "")))]
                result[key] = self._value(sorted(kept, key=_entry_order))
            else:
                result[key] = self._value(value)
        return result

    def _without_ages(self, table: dict[str, Any]) -> dict[str, Any]:
        columns = table.get("columnDefinitions") or []
        self._columns = columns or self._columns  # a watch names its columns once, in its first table
        ages = {i for i, c in enumerate(self._columns) if c.get("name") in AGE_COLUMNS}
        rows = []
        for row in table.get("rows") or []:
            cells = [
                "<age>" if i in ages and isinstance(cell, str) and AGE.fullmatch(cell) else cell
                for i, cell in enumerate(row.get("cells", []))
            ]
            rows.append(row | {"cells": cells})
        shown = [{k: v for k, v in column.items() if k != "description"} for column in columns]
        return table | {"rows": rows} | ({"columnDefinitions": shown} if columns else {})


def _entry_order(entry: dict[str, Any]) -> tuple[str, str, str, str]:
    # The server orders entries by a time of one second's precision, which two runs do not share.
    return tuple(str(entry.get(k, "")) for k in ("manager", "operation", "subresource", "apiVersion"))  # type: ignore[return-value]
