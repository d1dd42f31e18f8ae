#!/usr/bin/python3
"""Where the instructions of a request go: callgrind over the whole requests of the micro benchmarks.

Counts do not depend on how busy the machine is, so a change can be judged by them anywhere. Sockets, TLS and the disk are
not in them.

    profile.py [--top 15] [request_create/100 …]
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
REQUESTS = (
    "request_create/100", "request_get/100", "request_patch_status/100", "request_delete", "request_list/100",
    "request_selected_list/100",
)  # fmt: skip
MEASURED = "*Server::measured*"


def micro() -> Path:
    return Path(os.environ.get("MICRO", REPOSITORY / "build" / "bin" / "micro")).resolve()


def profile(request: str, folder: Path) -> tuple[int, str]:
    """How many requests were made, and callgrind_annotate's table of what they cost."""
    counts, benchmark = folder / "callgrind.out", folder / "benchmark.json"
    subprocess.run(
        [
            "valgrind", "--tool=callgrind", f"--toggle-collect={MEASURED}", f"--callgrind-out-file={counts}",
            micro(), f"--benchmark_filter=^{request}(/iterations:.*)?$",
            f"--benchmark_out={benchmark}", "--benchmark_out_format=json",
        ],
        check=True, capture_output=True,
    )  # fmt: skip
    done = json.loads(benchmark.read_text())["benchmarks"][0]["iterations"]
    table = subprocess.run(["callgrind_annotate", counts], check=True, capture_output=True, text=True).stdout
    return int(done), table


def shorter(name: str) -> str:
    """A function's name without its file, its library and most of its templates."""
    name = re.sub(r"^\S*?:(?=\S)", "", name, count=1)
    name = re.sub(r" \[.*\]$", "", name)
    while (shrunk := re.sub(r"<[^<>]*>", "", name)) != name:
        name = shrunk
    name = name.replace("gangway::", "").replace("boost::json::", "bj::").replace("(anonymous namespace)::", "")
    return re.sub(r"\(.*\).*$", "", name)


def show(request: str, requests: int, table: str, top: int) -> None:
    total, functions = 0, []
    for line in table.splitlines():
        if match := re.match(r"\s*([\d,]+) \(\s*([\d.]+)%\)\s+(.*)", line):
            cost = int(match[1].replace(",", ""))
            if "PROGRAM TOTALS" in match[3]:
                total = cost
            else:
                functions.append((cost, float(match[2]), shorter(match[3])))
    print(f"\n{request}: {total / requests:,.0f} instructions a request")
    for cost, share, name in functions[:top]:
        print(f"{cost / requests:12,.0f} {share:5.1f} %  {name[:100]}")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("requests", nargs="*", default=REQUESTS)
    parser.add_argument("--top", type=int, default=15)
    options = parser.parse_args()
    for request in options.requests:
        with tempfile.TemporaryDirectory() as folder:
            requests, table = profile(request, Path(folder))
        show(request, requests, table, options.top)
    return 0


if __name__ == "__main__":
    sys.exit(main())
