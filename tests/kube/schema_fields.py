"""Every schema field of the real server, for the kinds Gangway serves, exists in Gangway's OpenAPI with the same type.

Names and types are compared, and what apply and strategic merge read from a schema: list types, keys, patch strategies.
Descriptions are not: ours are our own.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from .comparison.runner import Server, Tally
from .harness.http import Client
from .served import served

Schema = dict[str, Any]

MERGE_RULES = (
    "x-kubernetes-list-type",
    "x-kubernetes-list-map-keys",
    "x-kubernetes-map-type",
    "x-kubernetes-patch-strategy",
    "x-kubernetes-patch-merge-key",
)


@dataclass(frozen=True)
class Document:
    """One group version's OpenAPI document."""

    schemas: dict[str, Schema]

    def resolve(self, schema: Schema) -> tuple[str, Schema]:
        """The schema without indirection, and the name of the component that it came from, if any."""
        name = ""
        while True:
            if "$ref" in schema:
                name = schema["$ref"].rsplit("/", 1)[-1]
                schema = self.schemas[name] | {k: v for k, v in schema.items() if k != "$ref"}
            elif len(schema.get("allOf", [])) == 1:
                schema = {k: v for k, v in schema.items() if k != "allOf"} | schema["allOf"][0]
            else:
                return name, schema

    def kind(self, group: str, version: str, kind: str) -> Schema | None:
        wanted = {"group": group, "version": version, "kind": kind}
        for schema in self.schemas.values():
            if wanted in schema.get("x-kubernetes-group-version-kind", []):
                return schema
        return None


def fetch(client: Client, group_version: str) -> Document:
    prefix = "api" if "/" not in group_version else "apis"
    document = client.must("GET", f"/openapi/v3/{prefix}/{group_version}")
    return Document(document["components"]["schemas"])


def type_of(schema: Schema) -> str:
    """A field's type in one word or two, however the document spells it."""
    if schema.get("x-kubernetes-int-or-string") or schema.get("format") == "int-or-string":
        return "integer or string"
    for word in ("oneOf", "anyOf"):
        if options := sorted({option["type"] for option in schema.get(word, []) if "type" in option}):
            return " or ".join(options)
    return " ".join(filter(None, [schema.get("type", "any"), schema.get("format", "")]))


def differences(real: Document, ours: Document, left: Schema, right: Schema, path: str) -> Iterator[str | None]:
    """One None per field that agrees, one line per field that does not."""
    seen: set[str] = set()

    def walk(real_schema: Schema, our_schema: Schema, where: str) -> Iterator[str | None]:
        name, a = real.resolve(real_schema)
        _, b = ours.resolve(our_schema)
        yield _field_difference(a, b, where)
        if name in seen:
            return
        if name:
            seen.add(name)
        for key, below in a.get("properties", {}).items():
            if key in b.get("properties", {}):
                yield from walk(below, b["properties"][key], f"{where}.{key}")
            else:
                yield f"{where}.{key}: missing (real: {type_of(real.resolve(below)[1])})"
        for word, sign in (("items", "[]"), ("additionalProperties", "{}")):
            if isinstance(a.get(word), dict):
                if isinstance(b.get(word), dict):
                    yield from walk(a[word], b[word], where + sign)
                else:
                    yield f"{where}{sign}: missing (real: {type_of(real.resolve(a[word])[1])})"

    return walk(left, right, path)


def _field_difference(real: Schema, ours: Schema, path: str) -> str | None:
    if type_of(real) != type_of(ours):
        return f"{path}: real {type_of(real)}, ours {type_of(ours)}"
    for rule in MERGE_RULES:
        if real.get(rule) != ours.get(rule):
            return f"{path}: {rule}: real {real.get(rule)}, ours {ours.get(rule)}"
    return None


def compare_schemas(real: Server, subject: Server) -> Tally:
    tally = Tally()
    clients = Client(real.endpoint), Client(subject.endpoint)
    for group_version, parts in served().items():
        group, _, version = group_version.rpartition("/")
        documents = [fetch(client, group_version) for client in clients]
        for kind in parts["kinds"]:
            own_group, own_version, name = kind.split("/") if "/" in kind else (group, version, kind)
            left, right = (document.kind(own_group, own_version, name) for document in documents)
            if left is None or right is None:
                tally.failed += 1
                print(f"FAIL {group_version} {kind}: no schema {'there' if left is None else 'here'}")
                continue
            for line in differences(documents[0], documents[1], left, right, kind):
                tally.passed += line is None
                tally.failed += line is not None
                if line is not None:
                    print(f"FAIL {group_version} {line}")
    return tally
