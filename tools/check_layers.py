#!/usr/bin/env python3
"""Checks that includes between the folders of src/ go one way, and that heavy headers stay where they belong.

CMake's link lines are the first guard; this is the second, and the one that says which line is wrong.
"""

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent

# What each folder may include, besides itself. ARCHITECTURE.md draws the same picture.
BELOW = {
    "base": set(),
    "sys": {"base"},
    "json": {"base"},
    "api": {"json", "base"},
    "store": {"api", "json", "sys", "base"},
    "client": {"api", "json", "sys", "base"},
    "planning": {"base"},
    "apiserver": {"client", "store", "api", "json", "sys", "base"},
    "volumes": {"client", "api", "json", "sys", "base"},
    "controllers": {"volumes", "client", "api", "json", "sys", "base"},
    "jobs": {"controllers", "client", "api", "json", "sys", "base"},
    "agent": {"client", "api", "json", "sys", "base"},
    "scheduler": {"planning", "volumes", "client", "api", "json", "sys", "base"},
    "simulator": {"scheduler", "jobs", "controllers", "planning", "client", "api", "json", "sys", "base"},
    "embedded": {"scheduler", "jobs", "controllers", "agent", "apiserver", "client", "store", "api", "json", "sys", "base"},
    "net": {"client", "api", "sys", "base"},
    "crypto": {"sys", "base"},
    "cli": {"agent", "client", "api", "json", "sys", "base"},
    "testing": {"scheduler", "planning", "client", "store", "api", "json", "sys", "base"},
}
# Libraries that only some folders may include.
GUARDED = [
    (re.compile(r"<(boost/(asio|beast)|openssl)/"), {"net", "crypto"}),
    (re.compile(r"<sqlite3\.h>"), {"store", "testing"}),
    (re.compile(r"<yaml-cpp/"), {"json"}),
    (re.compile(r"<(spdlog|prometheus)/"), {"sys"}),
    (re.compile(r"<CLI/"), {"cli"}),
    (re.compile(r"<zlib\.h>"), {"agent"}),
]
INCLUDE = re.compile(r'^\s*#\s*include\s+(?:"([^"]+)"|(<[^>]+>))')
# The planners are pure: no clocks, threads or order that depends on addresses.
IMPURE = re.compile(r"<(thread|mutex|atomic|chrono|random|unordered_map|unordered_set|iostream|fstream)>")


def problems_of(path):
    folder = path.relative_to(ROOT / "src").parts[0]
    is_test = path.name.endswith(("_test.cc", "_contract.h")) or path.name.startswith("test_")
    allowed = BELOW[folder] | {folder} | ({"testing"} if is_test else set())
    for number, line in enumerate(path.read_text().splitlines(), 1):
        match = INCLUDE.match(line)
        if not match:
            continue
        where = f"{path.relative_to(ROOT)}:{number}"
        if match.group(1):
            target = match.group(1).split("/")[0]
            if target in BELOW and target not in allowed and not (is_test and folder in ("testing", "net")):
                yield f"{where}: {folder}/ must not include {target}/"
            continue
        for pattern, folders in GUARDED:
            if pattern.search(match.group(2)) and folder not in folders:
                yield f"{where}: {match.group(2)} belongs to {', '.join(sorted(folders))} only"
        if folder == "planning" and IMPURE.search(match.group(2)):
            yield f"{where}: planners are pure; {match.group(2)} is not"


def main():
    problems = []
    for path in sorted((ROOT / "src").rglob("*")):
        if path.suffix not in (".h", ".cc"):
            continue
        if path.relative_to(ROOT / "src").parts[0] not in BELOW:
            problems.append(f"{path.relative_to(ROOT)}: this folder has no place in the layers; give it one in tools/check_layers.py")
            continue
        problems += problems_of(path)
    print("\n".join(problems) if problems else "layers: in order")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
