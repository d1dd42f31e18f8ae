#!/usr/bin/env bash
# The end-to-end part of make test: the real kubectl and the Python client against build/bin/gangway. Arguments are
# pytest's. Without any, two files run at a time: most of a test is waiting.
set -euo pipefail
cd "$(dirname "$0")/.."
KUBECTL=$(../tools/setup/kube.sh --kubectl)
export KUBECTL
if [ $# -eq 0 ]; then set -- -n 2 --dist loadfile; fi
exec /usr/bin/python3 -B -m pytest -q -p no:cacheprovider --durations=15 "$@"
