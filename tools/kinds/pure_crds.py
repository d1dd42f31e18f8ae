"""The project's own kinds as CustomResourceDefinitions that any Kubernetes takes: nothing in them is of our dialect.

What a CRD cannot say is left out: columns that code computes, and what the API server adds by itself (the Name column,
the schema of metadata). A reference to a shared type has no place in one, and is a mistake.
"""

import yaml

from kind_files import kind_files, load

OBJECT_META = "#/definitions/io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"
OWN_KEYS = "x-gangway-"


def is_own(document):
    """Kinds of Kubernetes itself say x-gangway-dialect: builtin; every Kubernetes has those. Kinds of other makers say
    x-gangway-crd: false; where those are in use, their makers have installed them."""
    spec = document.get("spec", {})
    return spec.get("x-gangway-dialect", "crd") == "crd" and spec.get("x-gangway-crd", True)


def pure(value, problems):
    if isinstance(value, list):
        return [pure(item, problems) for item in value]
    if not isinstance(value, dict):
        return value
    if value.get("$ref") == OBJECT_META:
        return {"type": "object"}
    if "$ref" in value:
        problems.add(value.where("$ref"), "a kind that is installed as a CRD must not use $ref, but for ObjectMeta")
    return {key: pure(item, problems) for key, item in value.items() if not key.startswith(OWN_KEYS)}


def needs_no_code(column):
    return "x-gangway-column" not in column and column.get("jsonPath") != ".metadata.name"


def pure_crd(document, problems):
    spec = dict(document["spec"])
    spec["versions"] = [dict(version) for version in spec["versions"]]
    for version in spec["versions"]:
        columns = [column for column in version.get("additionalPrinterColumns", []) if needs_no_code(column)]
        if columns:
            version["additionalPrinterColumns"] = columns
        else:
            version.pop("additionalPrinterColumns", None)
    return {key: pure(spec if key == "spec" else value, problems) for key, value in document.items()}


def own_crds(root, problems):
    documents = (load(path, problems) for path in kind_files(root))
    return [pure_crd(document, problems) for document in documents if is_own(document) and "spec" in document]


def as_yaml(crds):
    return "".join("---\n" + yaml.safe_dump(crd, sort_keys=False, allow_unicode=True, width=120) for crd in crds)
