"""What Gangway is meant to serve (served.yaml), and the discovery documents cut down to it."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import yaml


@cache
def served() -> dict[str, dict[str, list[str]]]:
    groups: dict[str, dict[str, list[str]]] = yaml.safe_load((Path(__file__).parent / "served.yaml").read_text())
    return groups


def _key(group: str, version: str) -> str:
    return f"{group}/{version}" if group else version


def restrict(document: Any) -> Any:
    """Any discovery document without the groups, versions and resources that only one side is meant to have."""
    kind = document.get("kind") if isinstance(document, dict) else None
    if kind == "APIResourceList":
        known = served().get(document["groupVersion"], {}).get("resources", [])
        resources = [r for r in document["resources"] if r["name"] in known]
        return document | {"resources": sorted(resources, key=lambda r: r["name"])}
    if kind == "APIGroupList":
        groups = [restrict(g | {"kind": "APIGroup"}) for g in document["groups"]]
        return document | {"groups": sorted((g for g in groups if g["versions"]), key=lambda g: g["name"])}
    if kind == "APIGroup":
        versions = [v for v in document["versions"] if v["groupVersion"] in served()]
        return document | {"versions": versions}
    if kind == "APIGroupDiscoveryList":
        items = [_restrict_aggregated(item) for item in document["items"]]
        return document | {"items": sorted((i for i in items if i["versions"]), key=_group_name)}
    return document


def _group_name(item: dict[str, Any]) -> str:
    return str(item.get("metadata", {}).get("name", ""))


def _restrict_aggregated(item: dict[str, Any]) -> dict[str, Any]:
    versions = []
    for version in item["versions"]:
        known = served().get(_key(_group_name(item), version["version"]), {}).get("resources", [])
        if known:
            resources = [r for r in version["resources"] if r["resource"] in known]
            for resource in resources:
                if below := resource.get("subresources"):
                    wanted = [s for s in below if f"{resource['resource']}/{s['subresource']}" in known]
                    resource["subresources"] = sorted(wanted, key=lambda s: s["subresource"])
            versions.append(version | {"resources": sorted(resources, key=lambda r: r["resource"])})
    return item | {"versions": versions}
