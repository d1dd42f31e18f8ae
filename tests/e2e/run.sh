#!/usr/bin/env bash
# The end-to-end part of make test: the real kubectl and the Python client against build/bin/gangway. Arguments are
# pytest's. Without any, two files run at a time: most of a test is waiting. The few that fail then, if they are few, are
# asked once more, each with a cluster of its own: what passes then depends on the moment, and is named at the end.
set -euo pipefail
cd "$(dirname "$0")/.."
KUBECTL=$(../tools/setup/kube.sh --kubectl)
export KUBECTL
pytest=(/usr/bin/python3 -B -m pytest -q -p no:cacheprovider)
if [ $# -gt 0 ]; then exec "${pytest[@]}" "$@"; fi

report=$(mktemp)
trap 'rm -f "$report"' EXIT
status=0
"${pytest[@]}" -n 2 --dist loadfile -rs --durations=15 --junit-xml="$report" || status=$?
[ "$status" -eq 1 ] || exit "$status" # all is well, or it is not about tests that failed
mapfile -t failed < <(/usr/bin/python3 -B e2e/failed_tests.py "$report")
if [ ${#failed[@]} -eq 0 ] || [ ${#failed[@]} -gt 4 ]; then exit "$status"; fi
for test in "${failed[@]}"; do "${pytest[@]}" "$test"; done
printf 'e2e: passed only when asked again: %s\n' "${failed[@]}"
