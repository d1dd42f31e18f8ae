#!/usr/bin/env bash
# make bench: both servers in one run, then the growth check. Builds the real server on first use.
set -euo pipefail
cd "$(dirname "$0")"
../../tools/setup/kube.sh kube-apiserver
exec /usr/bin/python3 -B run.py "$@"
