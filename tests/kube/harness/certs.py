"""A throw-away certificate authority, made with the openssl command."""

from __future__ import annotations

import subprocess
from pathlib import Path


def _openssl(*arguments: str | Path) -> None:
    done = subprocess.run(["openssl", *map(str, arguments)], capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError(f"openssl {arguments[0]} failed: {done.stderr}")


class Authority:
    """Issues certificates into one folder: NAME.crt beside NAME.key."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.ca = folder / "ca.crt"
        self._ca_key = self.new_key("ca")
        _openssl("req", "-x509", "-new", "-key", self._ca_key, "-subj", "/CN=test-ca", "-days", "2", "-out", self.ca)

    def new_key(self, name: str) -> Path:
        key = self.folder / f"{name}.key"
        _openssl("ecparam", "-name", "prime256v1", "-genkey", "-noout", "-out", key)
        return key

    def issue(self, name: str, subject: str, alt_names: str = "") -> tuple[Path, Path]:
        key = self.new_key(name)
        request, certificate, extensions = (self.folder / f"{name}{end}" for end in (".csr", ".crt", ".ext"))
        usage = "extendedKeyUsage=serverAuth,clientAuth\n"
        extensions.write_text(usage + (f"subjectAltName={alt_names}\n" if alt_names else ""))
        _openssl("req", "-new", "-key", key, "-subj", subject, "-out", request)
        _openssl(
            "x509", "-req", "-in", request, "-CA", self.ca, "-CAkey", self._ca_key, "-CAcreateserial",
            "-days", "2", "-extfile", extensions, "-out", certificate,
        )  # fmt: skip
        return certificate, key
