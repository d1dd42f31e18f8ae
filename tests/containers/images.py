"""Images of busybox, made on this machine."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

BUSYBOX = Path("/bin/busybox")
CAN_BE_MADE = BUSYBOX.exists() and shutil.which("umoci") is not None


def umoci(*arguments: object) -> None:
    subprocess.run(["umoci", *map(str, arguments)], check=True, capture_output=True)


def busybox_layout(folder: Path, tools: tuple[str, ...], home: str, programs: dict[str, str] | None = None,
                   config: tuple[str, ...] = ()) -> Path:  # fmt: skip
    """An OCI layout with one image `1`: these tools of busybox in /bin, these scripts beside them, an empty `home`."""
    layout, bundle = folder / "layout", folder / "bundle"
    umoci("init", "--layout", layout)
    umoci("new", "--image", f"{layout}:1")
    umoci("unpack", "--image", f"{layout}:1", bundle)
    root = bundle / "rootfs"
    for name in ("bin", "tmp", "proc", "sys", "dev", "etc", home):
        (root / name).mkdir(exist_ok=True)
    shutil.copy(BUSYBOX, root / "bin" / "busybox")
    for tool in tools:
        (root / "bin" / tool).symlink_to("busybox")
    for name, text in (programs or {}).items():
        (root / "bin" / name).write_text(text)
        (root / "bin" / name).chmod(0o755)
    umoci("repack", "--image", f"{layout}:1", bundle)
    umoci("config", "--image", f"{layout}:1", "--config.env", "PATH=/bin", *config)
    return layout
