#!/usr/bin/env python3
"""Lists every field that a real server has, for the kinds we serve, and ours lacks or types differently.

    compare_openapi.py OURS REAL

Both are OpenAPI v3 documents (or folders of them, one file a group-version). Kinds are found by their
x-kubernetes-group-version-kind in OURS. Compared: existence, type, format, list and map types, list and patch keys.
Exit code 1 when something differs.
"""

import argparse
import json
import pathlib
import sys

REF = "#/components/schemas/"
FACTS = (
    "x-kubernetes-list-type",
    "x-kubernetes-list-map-keys",
    "x-kubernetes-map-type",
    "x-kubernetes-patch-merge-key",
    "x-kubernetes-patch-strategy",
)


def load(path):
    path = pathlib.Path(path)
    files = sorted(path.glob("*.json")) if path.is_dir() else [path]
    schemas = {}
    for file in files:
        schemas.update(json.loads(file.read_text()).get("components", {}).get("schemas", {}))
    return schemas


def kinds_of(schemas):
    """(group, version, kind) -> component name, of components that stand for exactly one kind."""
    out = {}
    for name, schema in schemas.items():
        gvks = schema.get("x-kubernetes-group-version-kind", [])
        if len(gvks) == 1:
            out[(gvks[0]["group"], gvks[0]["version"], gvks[0]["kind"])] = name
    return out


class Comparison:
    def __init__(self, ours, real):
        self.ours, self.real, self.seen, self.differences = ours, real, set(), []

    @staticmethod
    def resolve(schema, schemas):
        """The schema behind a reference, with what stands beside it; and the name that was referred to."""
        inner = schema.get("allOf", [schema])
        if len(inner) == 1 and "$ref" in inner[0]:
            name = inner[0]["$ref"].removeprefix(REF)
            return {**schemas.get(name, {}), **{k: v for k, v in schema.items() if k in FACTS}}, name
        return schema, ""

    @staticmethod
    def type_of(schema):
        if "oneOf" in schema:
            return ",".join(sorted(s.get("type", "") for s in schema["oneOf"]))
        return schema.get("type", "any")

    def compare(self, ours, real, path):
        ours, our_name = self.resolve(ours, self.ours)
        real, real_name = self.resolve(real, self.real)
        if real_name:
            if (our_name, real_name) in self.seen:
                return
            self.seen.add((our_name, real_name))
        if self.type_of(ours) != self.type_of(real):
            self.differences.append(f"{path}: type {self.type_of(ours)}, the real one is {self.type_of(real)}")
            return
        for key in ("format", *FACTS):
            if ours.get(key) != real.get(key):
                self.differences.append(f"{path}: {key} {ours.get(key)}, the real one is {real.get(key)}")
        for name, field in real.get("properties", {}).items():
            mine = ours.get("properties", {}).get(name)
            if mine is None:
                self.differences.append(f"{path}.{name}: missing")
            else:
                self.compare(mine, field, f"{path}.{name}")
        for key in ("items", "additionalProperties"):
            if isinstance(real.get(key), dict):
                if isinstance(ours.get(key), dict):
                    self.compare(ours[key], real[key], f"{path}.{key}")
                else:
                    self.differences.append(f"{path}: {key} missing")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("ours")
    parser.add_argument("real")
    args = parser.parse_args()
    ours, real = load(args.ours), load(args.real)
    real_kinds = kinds_of(real)
    comparison, compared = Comparison(ours, real), 0
    for gvk, name in sorted(kinds_of(ours).items()):
        if gvk in real_kinds:
            compared += 1
            comparison.compare({"$ref": REF + name}, {"$ref": REF + real_kinds[gvk]}, gvk[2])
        else:
            print(f"note: the real server does not serve {'/'.join(filter(None, gvk))}", file=sys.stderr)
    print("\n".join(comparison.differences))
    print(f"{compared} kinds compared, {len(comparison.differences)} differences", file=sys.stderr)
    return 1 if comparison.differences or not compared else 0


if __name__ == "__main__":
    sys.exit(main())
