"""Checks of schemas: known keywords, references that exist, keys that are fields."""

import re

DEFINITIONS = "#/definitions/"
TYPES = ("object", "array", "string", "integer", "number", "boolean")
KEYWORDS = set(
    """$ref type format description nullable default enum minimum maximum exclusiveMinimum exclusiveMaximum multipleOf
    minLength maxLength pattern minItems maxItems uniqueItems minProperties maxProperties required properties
    additionalProperties items allOf anyOf oneOf not title example
    x-kubernetes-list-type x-kubernetes-list-map-keys x-kubernetes-map-type x-kubernetes-patch-merge-key
    x-kubernetes-patch-strategy x-kubernetes-preserve-unknown-fields x-kubernetes-int-or-string
    x-kubernetes-embedded-resource x-kubernetes-validations
    x-gangway-as-given x-gangway-atomic x-gangway-doc-enum x-gangway-doc-required x-gangway-empty x-gangway-pointer x-gangway-micro-time
    x-gangway-go-type x-gangway-protobuf x-gangway-protobuf-union""".split()
)


class SchemaChecker:
    def __init__(self, definitions, problems):
        self.definitions, self.problems = definitions, problems

    def target(self, schema):
        """The schema itself, or the definition it refers to."""
        if isinstance(schema, dict) and "$ref" in schema:
            return self.definitions.get(schema["$ref"].removeprefix(DEFINITIONS))
        return schema

    def field(self, schema, name):
        """The schema of a field; None when there is none; {} when anything goes."""
        schema = self.target(schema) or {}
        found = schema.get("properties", {}).get(name)
        if found is not None:
            return found
        if isinstance(schema.get("additionalProperties"), dict):
            return schema["additionalProperties"]
        return {} if schema.get("x-kubernetes-preserve-unknown-fields") else None

    def check(self, schema, what):
        if not isinstance(schema, dict):
            return
        for key in schema:
            if key not in KEYWORDS:
                self.problems.add(schema.where(key), f"{what}: unknown keyword {key}")
        self.check_own(schema, what)
        for name, child in schema.get("properties", {}).items():
            self.check(child, f"{what}.{name}")
        for key in ("items", "additionalProperties", "not", "x-gangway-protobuf-union"):
            self.check(schema.get(key), f"{what}.{key}")
        for key in ("allOf", "anyOf", "oneOf"):
            for child in schema.get(key, []):
                self.check(child, f"{what}.{key}")

    def check_own(self, schema, what):
        add = self.problems.add
        if "$ref" in schema:
            name = schema["$ref"].removeprefix(DEFINITIONS)
            if name == schema["$ref"] or name not in self.definitions:
                add(schema.where("$ref"), f"{what}: there is no definition {schema['$ref']}")
        if "type" in schema and schema["type"] not in TYPES:
            add(schema.where("type"), f"{what}: unknown type {schema['type']} (one of {', '.join(TYPES)})")
        if schema.get("type") == "array" and "items" not in schema:
            add(schema.where("type"), f"{what}: an array needs items")
        for key in ("required", "x-gangway-doc-required"):
            for name in schema.get(key, []):
                if name not in schema.get("properties", {}):
                    add(schema.where(key), f"{what}: {key} names {name}, which is not a property")
        for name in schema.get("x-kubernetes-list-map-keys", []):
            if self.field(schema.get("items", {}), name) is None:
                add(schema.where("x-kubernetes-list-map-keys"), f"{what}: its items have no field {name}")
        if schema.get("x-kubernetes-list-type", "atomic") not in ("atomic", "set", "map"):
            add(schema.where("x-kubernetes-list-type"), f"{what}: x-kubernetes-list-type is atomic, set or map")

    def resolves(self, schema, path):
        """Whether a JSONPath such as .status.podIPs[0].ip or .status.conditions[?(@.type=="Ready")].status leads to a
        field. What is in brackets is not looked at."""
        for step in re.sub(r"\[[^\]]*\]", "[]", path).strip(".").split("."):
            name, _, index = step.partition("[")
            schema = self.field(schema, name)
            if schema is None:
                return False
            if index:
                schema = (self.target(schema) or {}).get("items", {})
        return True
