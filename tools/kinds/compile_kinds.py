#!/usr/bin/env python3
"""Compiles kinds/**.yaml into one JSON document, and our own kinds into pure CRDs; kinds/README.md describes the forms.

    compile_kinds.py --kinds DIR [--json FILE] [--crds FILE] [--cc FILE]

Every mistake in the files is reported as file:line, and any mistake fails the build.
"""

import argparse
import pathlib
import re
import sys

import yaml

from check_schema import SchemaChecker
from kind_files import Mapping, Problems, compact, files_of, kind_files, load
from pure_crds import as_yaml, own_crds

VERBS = ["create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"]
SPEC_KEYS = {
    "group", "names", "scope", "versions", "x-gangway-dialect", "x-gangway-verbs", "x-gangway-stored",
    "x-gangway-durability", "x-gangway-storage", "x-gangway-crd",
}  # fmt: skip
VERSION_KEYS = {
    "name", "served", "storage", "deprecated", "deprecationWarning", "schema", "subresources",
    "additionalPrinterColumns", "selectableFields",
}  # fmt: skip
COLUMN_TYPES = ("string", "integer", "number", "boolean", "date")


def merge_rules(definitions, path, problems):
    """kinds/rules: defaults that the server's code sets, and the rules that a schema can state."""
    for name, rules in load(path, problems).items():
        definition = definitions.get(name)
        if definition is None:
            problems.add(rules.where(), f"there is no definition {name}")
            continue
        for key, value in rules.items():
            if key != "fields":
                definition[key] = value
                definition.lines[key] = rules.lines[key]
        for field, extra in rules.get("fields", {}).items():
            target = definition.get("properties", {}).get(field)
            if target is None:
                problems.add(rules["fields"].where(field), f"{name} has no field {field}")
                continue
            for key, value in extra.items():
                if key == "enum" and value is True:
                    value = target.pop("x-gangway-doc-enum", None)
                    if value is None:
                        problems.add(extra.where(), f"{name}.{field}: OpenAPI lists no values for it; give them here")
                        continue
                elif key == "enum":
                    target.pop("x-gangway-doc-enum", None)
                if key == "items":
                    target["items"].update(value)
                else:
                    target[key] = value


def merge_texts(definitions, path, problems):
    for name, texts in load(path, problems).items():
        if name == "any-object":
            for definition in definitions.values():
                add_object_texts(definition.get("properties", {}), texts)
            continue
        definition = definitions.get(name)
        if definition is None:
            problems.add(texts.where(), f"there is no definition {name}")
            continue
        for field, text in texts.items():
            target = definition if field == "self" else definition.get("properties", {}).get(field)
            if target is None:
                problems.add(texts.where(field), f"{name} has no field {field}")
            else:
                target["description"] = text


def add_object_texts(fields, texts):
    """The fields that all objects have get the same text, unless a kind has its own."""
    if "apiVersion" in fields and "kind" in fields and "metadata" in fields:
        for field, text in texts.items():
            if field in fields:
                fields[field].setdefault("description", text)


def mark_omitted(definitions):
    """Fields of imported types leave a zero value out unless they are pointers or say what they write instead."""
    for definition in definitions.values():
        for field in definition.get("properties", {}).values():
            pointer = field.pop("x-gangway-pointer", False)
            if not pointer and "x-gangway-empty" not in field:
                field["x-gangway-omit"] = True


def gather_numbers(definitions, problems):
    """Protobuf numbers move from the fields to the type that has them: there the decoder needs them, and a field that
    is a plain $ref stays one."""
    for name, definition in definitions.items():
        for schema in (definition, definition.get("x-gangway-protobuf-union", {})):
            numbers = {}
            for key, field in schema.get("properties", {}).items():
                number = field.pop("x-gangway-protobuf", None)
                if number in numbers.values() and number is not None:
                    problems.add(field.where("x-gangway-protobuf"), f"{name}.{key}: number {number} is used twice")
                if number is not None:
                    numbers[key] = number
            if numbers:
                schema["x-gangway-protobuf"] = numbers


def plain(mapping):
    return {k: v for k, v in mapping.items()}


class KindCompiler:
    def __init__(self, checker, problems):
        self.checker, self.problems = checker, problems

    def compile(self, document):
        spec = document.get("spec")
        if not isinstance(spec, Mapping) or not isinstance(spec.get("names"), Mapping):
            self.problems.add(document.where(), "spec.names is missing: a kind file has the form of a CRD")
            return None
        self.keys(spec, SPEC_KEYS, "spec")
        names = spec["names"]
        self.check_names(document, spec, names)
        stored = spec.get("x-gangway-stored", True)
        kind = {
            "group": spec.get("group", ""),
            "kind": names.get("kind"),
            "listKind": names.get("listKind", "") if stored else "",
            "plural": names.get("plural"),
            "singular": names.get("singular", str(names.get("kind")).lower()),
            "shortNames": names.get("shortNames", []),
            "categories": names.get("categories", []),
            "scope": spec.get("scope"),
            "dialect": spec.get("x-gangway-dialect", "crd"),
            "stored": stored,
            "verbs": spec.get("x-gangway-verbs", VERBS),
            "durability": spec.get("x-gangway-durability", "full"),
            "storageName": spec.get("x-gangway-storage", self.qualified(names.get("plural"), spec.get("group", ""))),
            "versions": [self.version(v) for v in spec.get("versions", [])],
        }
        for verb in kind["verbs"]:
            if verb not in VERBS:
                self.problems.add(spec.where("x-gangway-verbs"), f"unknown verb {verb}")
        if kind["durability"] not in ("full", "relaxed"):
            self.problems.add(spec.where("x-gangway-durability"), "x-gangway-durability is full or relaxed")
        if kind["dialect"] not in ("builtin", "crd"):
            self.problems.add(spec.where("x-gangway-dialect"), "x-gangway-dialect is builtin or crd")
        return kind

    @staticmethod
    def qualified(plural, group):
        return f"{plural}.{group}" if group else plural

    def keys(self, mapping, known, what):
        for key in mapping:
            if key not in known:
                self.problems.add(mapping.where(key), f"{what}: unknown key {key}")

    def check_names(self, document, spec, names):
        for key in ("kind", "plural"):
            if not names.get(key):
                self.problems.add(names.where(), f"spec.names.{key} is missing")
        want = self.qualified(names.get("plural"), spec.get("group", ""))
        if document.get("metadata", {}).get("name") != want:
            self.problems.add(document.where("metadata"), f"metadata.name must be {want}")
        if spec.get("scope") not in ("Namespaced", "Cluster"):
            self.problems.add(spec.where("scope"), "spec.scope is Namespaced or Cluster")
        storage = [v for v in spec.get("versions", []) if v.get("storage")]
        if len(storage) != 1:
            self.problems.add(spec.where("versions"), f"one version must have storage: true, {len(storage)} have")

    def version(self, version):
        self.keys(version, VERSION_KEYS, "version")
        schema = version.get("schema", {}).get("openAPIV3Schema")
        if schema is None:
            self.problems.add(version.where(), "schema.openAPIV3Schema is missing")
            schema = Mapping(version.path, version.line)
        self.checker.check(schema, "schema")
        out = {
            "name": version.get("name"),
            "served": version.get("served", True),
            "storage": version.get("storage", False),
            "schema": schema,
            "subresources": self.subresources(version.get("subresources", {})),
            "columns": [self.column(c, schema) for c in version.get("additionalPrinterColumns", [])],
            "selectableFields": [self.selectable(f, schema) for f in version.get("selectableFields", [])],
        }
        if version.get("deprecated"):
            out["deprecationWarning"] = version.get("deprecationWarning", "")
        return out

    def subresources(self, given):
        out = []
        if "status" in given:
            out.append({"name": "status"})
        if "scale" in given:
            scale = given["scale"]
            self.keys(
                scale, {"specReplicasPath", "statusReplicasPath", "labelSelectorPath", "x-gangway-selector"}, "scale"
            )
            entry = {
                "name": "scale",
                "specReplicasPath": scale.get("specReplicasPath"),
                "statusReplicasPath": scale.get("statusReplicasPath"),
            }
            if "labelSelectorPath" in scale:
                entry["labelSelectorPath"] = scale["labelSelectorPath"]
            if "x-gangway-selector" in scale:
                entry["selectorObjectPath"] = scale["x-gangway-selector"]
            out.append(entry)
        for more in given.get("x-gangway-more", []):
            self.keys(more, {"name", "group", "version", "kind", "schema", "verbs"}, "subresource")
            self.checker.check(more.get("schema"), "schema")
            out.append(plain(more))
        return out

    def column(self, column, schema):
        if ("jsonPath" in column) == ("x-gangway-column" in column):
            self.problems.add(column.where(), "a column has either jsonPath or x-gangway-column")
        if column.get("type") not in COLUMN_TYPES:
            self.problems.add(column.where("type"), f"a column's type is one of {', '.join(COLUMN_TYPES)}")
        if "jsonPath" in column and not self.checker.resolves(schema, column["jsonPath"]):
            self.problems.add(column.where("jsonPath"), f"{column['jsonPath']} is not a field of the kind")
        out = {
            "name": column.get("name"),
            "type": column.get("type"),
            "format": column.get("format", ""),
            "description": column.get("description", ""),
            "priority": column.get("priority", 0),
        }
        if "jsonPath" in column:
            out["jsonPath"] = column["jsonPath"]
        else:
            out["function"] = column.get("x-gangway-column")
        if "x-gangway-none" in column:
            out["none"] = column["x-gangway-none"]
        return out

    def selectable(self, field, schema):
        path = field.get("jsonPath", "")
        if path and not self.checker.resolves(schema, path):
            self.problems.add(field.where("jsonPath"), f"{path} is not a field of the kind")
        if not path and "x-gangway-label" not in field:
            self.problems.add(field.where(), "a selectable field has a jsonPath or an x-gangway-label")
        return {
            "name": field.get("x-gangway-label", path.lstrip(".")),
            "jsonPath": path,
            "default": field.get("x-gangway-default", ""),
        }


def check_unique(kinds, problems):
    for key in ("kind", "plural"):
        seen = {}
        for path, kind in kinds:
            name = (kind["group"], kind[key])
            if name in seen:
                problems.add(f"{path}:1", f"{key} {kind[key]} of group {kind['group'] or 'core'} is also in {seen[name]}")
            seen[name] = path


def compile_all(root, problems):
    definitions = {}
    for path in files_of(root, "definitions"):
        for name, definition in load(path, problems).items():
            if name in definitions:
                problems.add(definition.where(), f"{name} is also in {definitions[name].path}")
            definitions[name] = definition
    for path in files_of(root, "rules"):
        merge_rules(definitions, path, problems)
    for path in files_of(root, "texts"):
        merge_texts(definitions, path, problems)
    checker = SchemaChecker(definitions, problems)
    for name, definition in definitions.items():
        checker.check(definition, name)
    compiler = KindCompiler(checker, problems)
    kinds = []
    for path in kind_files(root):
        kind = compiler.compile(load(path, problems))
        if kind:
            kinds.append((path, kind))
    check_unique(kinds, problems)
    mark_omitted(definitions)
    gather_numbers(definitions, problems)
    return {"definitions": definitions, "kinds": [kind for _, kind in kinds], "initialObjects": initial_objects(root)}


def initial_objects(root):
    """kinds/bootstrap: the objects that every cluster starts with, in the order of the files."""
    objects = []
    for path in files_of(root, "bootstrap"):
        objects += [document for document in yaml.safe_load_all(path.read_text()) if document]
    return objects


def as_function(name, text):
    """A C++ function that gives a text, in raw string literals; pieces, because compilers bound the length of one."""
    pieces = re.findall(r"(?s).{1,12000}", text)
    body = "\n".join(f'    R"kinds({piece})kinds"' for piece in pieces)
    return (
        f"std::string_view {name}() {{\n  static constexpr char kText[] =\n"
        f"{body};\n  return std::string_view(kText, sizeof(kText) - 1);\n}}\n\n"
    )


def as_source(texts):
    functions = "".join(as_function(name, text) for name, text in texts.items())
    return (
        '#include "apiserver/embedded_kinds.h"\n\nnamespace gangway::apiserver {\n\n'
        f"{functions}}}  // namespace gangway::apiserver\n"
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kinds", type=pathlib.Path, default=pathlib.Path(__file__).resolve().parents[2] / "kinds")
    parser.add_argument("--json", type=pathlib.Path)
    parser.add_argument("--crds", type=pathlib.Path, help="where to write the CRDs of our own kinds, as YAML")
    parser.add_argument("--cc", type=pathlib.Path)
    args = parser.parse_args()
    problems = Problems()
    document = compile_all(args.kinds, problems)
    crds = own_crds(args.kinds, problems)
    if problems.messages:
        print("\n".join(problems.messages), file=sys.stderr)
        return 1
    text, crds_text = compact(document), as_yaml(crds)
    if args.json:
        args.json.write_text(text)
    if args.crds:
        args.crds.write_text(crds_text)
    if args.cc:
        args.cc.write_text(as_source({"embedded_kinds": text, "embedded_crds": crds_text}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
