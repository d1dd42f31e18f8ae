#!/usr/bin/env bash
# The end-to-end part of make test: the real kubectl and the Python client against build/bin/gangway.
set -euo pipefail
cd "$(dirname "$0")/.."
KUBECTL=$(../tools/setup/kube.sh --kubectl)
export KUBECTL
exec /usr/bin/python3 -B -m pytest -q -p no:cacheprovider "$@"
