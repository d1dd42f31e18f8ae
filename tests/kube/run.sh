#!/usr/bin/env bash
# make test-kube: the same requests to the real kube-apiserver and to ours. Builds the real one on first use.
set -euo pipefail
cd "$(dirname "$0")"
../../tools/setup/kube.sh kube-apiserver kube-controller-manager kubectl
exec /usr/bin/python3 -B run.py --quiet "$@"
