"""Where a server is and who we are to it: what a kubeconfig says, in the form that HTTP clients need."""

from __future__ import annotations

import base64
import ssl
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import yaml


@dataclass(frozen=True)
class Endpoint:
    host: str
    port: int
    ca: Path
    certificate: Path | None
    key: Path | None
    token: str | None
    kubeconfig: Path

    def tls(self, as_admin: bool) -> ssl.SSLContext:
        """Without the admin's certificate for requests that carry another user's token: a certificate would win."""
        context = ssl.create_default_context(cafile=str(self.ca))
        if as_admin and self.certificate and self.key:
            context.load_cert_chain(str(self.certificate), str(self.key))
        return context


def _material(entry: dict[str, Any], field: str, folder: Path, stem: str) -> Path | None:
    """A file the entry names, or its inline data written beside the kubeconfig, because ssl only reads files."""
    if field in entry:
        return Path(entry[field])
    if f"{field}-data" not in entry:
        return None
    path = folder / f"{stem}.{field}.pem"
    path.touch(mode=0o600)
    path.write_bytes(base64.b64decode(entry[f"{field}-data"]))
    return path


def from_kubeconfig(path: Path) -> Endpoint:
    config = yaml.safe_load(path.read_text())
    context = next(c["context"] for c in config["contexts"] if c["name"] == config["current-context"])
    cluster = next(c["cluster"] for c in config["clusters"] if c["name"] == context["cluster"])
    user = next(u["user"] for u in config["users"] if u["name"] == context["user"])
    address = urlsplit(cluster["server"])
    ca = _material(cluster, "certificate-authority", path.parent, path.stem)
    if not address.hostname or not address.port or ca is None:
        raise ValueError(f"{path}: the cluster needs a server with host and port, and a certificate authority")
    return Endpoint(
        host=address.hostname,
        port=address.port,
        ca=ca,
        certificate=_material(user, "client-certificate", path.parent, path.stem),
        key=_material(user, "client-key", path.parent, path.stem),
        token=user.get("token"),
        kubeconfig=path,
    )


def write_kubeconfig(path: Path, url: str, ca: Path, certificate: Path, key: Path) -> None:
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "test",
        "clusters": [{"name": "test", "cluster": {"server": url, "certificate-authority": str(ca)}}],
        "contexts": [{"name": "test", "context": {"cluster": "test", "user": "admin"}}],
        "users": [{"name": "admin", "user": {"client-certificate": str(certificate), "client-key": str(key)}}],
    }
    path.touch(mode=0o600)
    path.write_text(yaml.safe_dump(config))
