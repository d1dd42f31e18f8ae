#!/usr/bin/env python3
"""Writes kinds/definitions/*.yaml from the OpenAPI documents of a running kube-apiserver.

Only facts are taken: names, types, formats, list and map types, patch keys, defaults, enums, what is required.
Descriptions are never read. What is ours (defaults set by code, enforced rules, texts) lives in kinds/rules and
kinds/texts and is not touched, so the import can be repeated for a newer server.

    import_openapi.py --openapi DIR --go-facts FACTS.json [--kinds DIR]
    import_openapi.py --server https://127.0.0.1:6443 --token T [--save DIR] --go-facts FACTS.json
    import_openapi.py --only-facts --go-facts FACTS.json

DIR holds one saved document a group-version (api__v1.json, apis__apps__v1.json, …). FACTS.json is the output of
go_facts (`cd tools/kinds/go_facts && go run . > FACTS.json`): which zero values the JSON leaves out, and the numbers
of the fields in protobuf. --only-facts puts these into the definitions that are there, without a server.
"""

import argparse
import json
import pathlib
import ssl
import sys
import urllib.request

import yaml
from kind_files import files_of, kind_files

REF = "#/components/schemas/"
OURS = "#/definitions/"
HEADER = "# Written by tools/kinds/import_openapi.py; edit kinds/rules and kinds/texts instead.\n"
META = "io.k8s.apimachinery.pkg.apis.meta.v1."
# Types that every server needs whatever kinds it has.
ALWAYS = [META + name for name in ("ObjectMeta", "ListMeta", "Status", "DeleteOptions", "LabelSelector", "WatchEvent")]
ALWAYS.append("io.k8s.api.autoscaling.v1.Scale")
KEEP = (
    "type",
    "format",
    "x-kubernetes-list-type",
    "x-kubernetes-list-map-keys",
    "x-kubernetes-map-type",
    "x-kubernetes-patch-merge-key",
    "x-kubernetes-patch-strategy",
    "x-kubernetes-preserve-unknown-fields",
    "x-kubernetes-int-or-string",
    "x-kubernetes-embedded-resource",
)
# Go types with a JSON form of their own.
SPECIAL = {
    "io.k8s.apimachinery.pkg.api.resource.Quantity": {"type": "string", "format": "quantity"},
    "io.k8s.apimachinery.pkg.util.intstr.IntOrString": {"x-kubernetes-int-or-string": True},
    META + "Time": {"type": "string", "format": "date-time"},
    META + "MicroTime": {"type": "string", "format": "date-time", "x-gangway-micro-time": True},
    META + "FieldsV1": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
    "io.k8s.apimachinery.pkg.runtime.RawExtension": {
        "type": "object", "x-kubernetes-preserve-unknown-fields": True, "x-gangway-atomic": True},
}
# What a struct field holds when it was not given, where that is not {}.
EMPTY_STRUCT = {
    "io.k8s.apimachinery.pkg.api.resource.Quantity": "0",
    "io.k8s.apimachinery.pkg.util.intstr.IntOrString": 0,
    META + "Time": None,
    META + "MicroTime": None,
    META + "FieldsV1": None,
    "io.k8s.apimachinery.pkg.runtime.RawExtension": None,
}
SCHEMA_PROPS = "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaProps"
ONE_SCHEMA, SCHEMAS = {"$ref": OURS + SCHEMA_PROPS}, {"type": "array", "items": {"$ref": OURS + SCHEMA_PROPS}}
STRINGS = {"type": "array", "items": {"type": "string"}}
# Types that are one of several things in JSON, and in protobuf a message with a field for each of them. Where more
# than one is given, the highest number is the value.
UNIONS = {
    SCHEMA_PROPS + "OrArray": [ONE_SCHEMA, SCHEMAS],
    SCHEMA_PROPS + "OrBool": [{"type": "boolean"}, ONE_SCHEMA],
    SCHEMA_PROPS + "OrStringArray": [ONE_SCHEMA, STRINGS],
}
EMPTY_OTHER = {"string": "", "number": 0, "bool": False, "list": None, "map": None, "any": None}


def ref_of(schema):
    """The definition a schema refers to, through the allOf that wraps a reference with siblings."""
    inner = schema.get("allOf", [schema])[0]
    return inner["$ref"].removeprefix(REF) if "$ref" in inner else None


def facts_of(schema):
    """The part of one schema that we keep."""
    target = ref_of(schema)
    if target:
        out = {"$ref": OURS + target}
        out.update({k: schema[k] for k in KEEP if k in schema and k not in ("type", "format")})
    else:
        out = {k: schema[k] for k in KEEP if k in schema}
        if "type" not in out and "x-kubernetes-int-or-string" not in out:
            out["x-kubernetes-preserve-unknown-fields"] = True
    if schema.get("default") not in (None, "", 0, False, {}):
        out["default"] = schema["default"]
    if "enum" in schema:
        out["x-gangway-doc-enum"] = schema["enum"]
    if "items" in schema:
        out["items"] = facts_of(schema["items"])
    if isinstance(schema.get("additionalProperties"), dict):
        out["additionalProperties"] = facts_of(schema["additionalProperties"])
    return out


def go_type_of(schema):
    """The Go type that a schema suggests; schema_decode.cc derives it in the same way."""
    target = schema.get("$ref", "").removeprefix(OURS)
    if target:
        return ".".join(target.split(".")[-2:])
    if schema.get("type") == "array":
        return "[]" + go_type_of(schema["items"])
    if schema.get("type") == "object":
        return "map[string]" + go_type_of(schema.get("additionalProperties", {}))
    if schema.get("type") == "string":
        return "[]uint8" if schema.get("format") == "byte" else "string"
    return {"integer": schema.get("format", "int64"), "boolean": "bool", "number": "float64"}.get(schema.get("type"), "")


def add_go_fact(field, fact):
    """How the server writes a field that is empty, and what decode errors call it; see kinds/README.md."""
    target = field.get("$ref", "").removeprefix(OURS)
    if target not in SPECIAL and fact["type"] != go_type_of(field):
        field["x-gangway-go-type"] = fact["type"]
    if fact["pointer"]:
        if fact["omit"]:
            field["x-gangway-pointer"] = True
        else:
            field["x-gangway-empty"] = None
    elif fact["kind"] == "struct":
        field["x-gangway-empty"] = EMPTY_STRUCT.get(target, {})
    elif not fact["omit"]:
        field["x-gangway-empty"] = EMPTY_OTHER[fact["kind"]]
    if "protobuf" in fact:
        numbers = fact["protobuf"]
        field["x-gangway-protobuf"] = numbers[0] if len(numbers) == 1 else numbers


def add_go_facts(name, definition, go_facts):
    known = go_facts.get(name, {})
    for key, field in definition.get("properties", {}).items():
        if key in known:
            add_go_fact(field, known[key])
        elif not name.startswith(META):
            print(f"{name}.{key}: no Go fact, zero values will be left out", file=sys.stderr)
    if name in UNIONS:
        forms = {f"form{i}": {**form, "x-gangway-protobuf": i} for i, form in enumerate(UNIONS[name], 1)}
        definition["x-gangway-protobuf-union"] = {"type": "object", "properties": forms}


def definition_of(name, schema, go_facts):
    if name in SPECIAL:
        return dict(SPECIAL[name])
    out = facts_of(schema)
    if "properties" in schema:
        out["properties"] = {key: facts_of(field) for key, field in schema["properties"].items()}
    add_go_facts(name, out, go_facts)
    if "required" in schema:
        out["x-gangway-doc-required"] = schema["required"]
    return out


def references(schema):
    if isinstance(schema, dict):
        if isinstance(schema.get("$ref"), str):
            yield schema["$ref"].removeprefix(OURS)
        for value in schema.values():
            yield from references(value)
    elif isinstance(schema, list):
        for value in schema:
            yield from references(value)


def closure(roots, schemas, go_facts):
    found, todo = {}, list(roots)
    while todo:
        name = todo.pop()
        if name in found:
            continue
        if name not in schemas:
            sys.exit(f"{name}: the server's OpenAPI has no such definition")
        found[name] = definition_of(name, schemas[name], go_facts)
        todo.extend(references(found[name]))
    return found


def flow(value):
    """One-line YAML of a small value; JSON's quoting rules are YAML's."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{k}: {flow(v)}" for k, v in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(flow(v) for v in value) + "]"
    if isinstance(value, str) and value and value.replace("-", "").replace("_", "").replace(".", "").isalnum():
        plain = yaml.safe_load(value)
        return value if isinstance(plain, str) else json.dumps(value)
    return json.dumps(value)


def write_definition(out, name, definition):
    out.append(f"{name}:")
    for key, value in definition.items():
        if key != "properties":
            out.append(f"  {key}: {flow(value)}")
    if "properties" in definition:
        out.append("  properties:")
        for key, value in sorted(definition["properties"].items()):
            out.append(f"    {flow(key)}: {flow(value)}")


def file_of(name):
    """io.k8s.api.core.v1.PodSpec -> core-v1; the shared meta types -> meta-v1 (and so on)."""
    parts = name.split(".")[:-1]
    if parts[-1] in ("v1", "v1beta1", "v2"):
        return f"{parts[-2]}-{parts[-1]}"
    return "meta-v1"


def load_server(url, token, save):
    context = ssl._create_unverified_context()

    def get(path):
        request = urllib.request.Request(url + path, headers={"Authorization": "Bearer " + token})
        with urllib.request.urlopen(request, context=context) as answer:
            return json.load(answer)

    documents = {}
    for path, entry in get("/openapi/v3")["paths"].items():
        if path.startswith("api/") or path.count("/") == 2 and path.startswith("apis/"):
            documents[path] = get(entry["serverRelativeURL"])
    if save:
        pathlib.Path(save).mkdir(parents=True, exist_ok=True)
        for path, document in documents.items():
            pathlib.Path(save, path.replace("/", "__") + ".json").write_text(json.dumps(document))
    return documents


def is_imported(path):
    """Others are written by hand, for kinds that no kube-apiserver has."""
    return path.read_text().startswith(HEADER)


def load_definitions(kinds):
    found = {}
    for path in filter(is_imported, files_of(kinds, "definitions")):
        found.update(yaml.safe_load(path.read_text()))
    return found


def import_definitions(documents, kinds, go_facts):
    schemas = {}
    for document in documents.values():
        schemas.update(document.get("components", {}).get("schemas", {}))
    roots = list(ALWAYS)
    own = {}
    for path in files_of(kinds, "definitions"):
        if not is_imported(path):
            own.update(yaml.safe_load(path.read_text()))
    for document in [own, *(yaml.safe_load(path.read_text()) for path in kind_files(kinds))]:
        roots.extend(name for name in references(document) if name not in own)
    return closure(roots, schemas, go_facts)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--openapi", help="directory of saved documents")
    parser.add_argument("--server", help="URL of a running kube-apiserver")
    parser.add_argument("--token", default="")
    parser.add_argument("--save", help="with --server: where to save the documents")
    parser.add_argument("--only-facts", action="store_true", help="keep the definitions; add the facts to them")
    parser.add_argument("--go-facts", required=True)
    parser.add_argument("--kinds", default=pathlib.Path(__file__).resolve().parents[2] / "kinds", type=pathlib.Path)
    args = parser.parse_args()
    go_facts = json.loads(pathlib.Path(args.go_facts).read_text())
    if args.only_facts:
        found = load_definitions(args.kinds)
        for name, definition in found.items():
            add_go_facts(name, definition, go_facts)
    elif args.server:
        found = import_definitions(load_server(args.server, args.token, args.save), args.kinds, go_facts)
    elif args.openapi:
        saved = sorted(pathlib.Path(args.openapi).glob("api*__*.json"))
        found = import_definitions({p.stem: json.loads(p.read_text()) for p in saved}, args.kinds, go_facts)
    else:
        parser.error("--openapi, --server or --only-facts is needed")

    files = {}
    for name in sorted(found):
        write_definition(files.setdefault(file_of(name), []), name, found[name])
    target = args.kinds / "definitions"
    target.mkdir(exist_ok=True)
    for name, lines in files.items():
        (target / f"{name}.yaml").write_text(HEADER + "\n".join(lines) + "\n")
    print(f"{len(found)} definitions in {len(files)} files")


if __name__ == "__main__":
    main()
