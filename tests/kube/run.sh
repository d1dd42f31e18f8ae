#!/usr/bin/env bash
# make test-kube: the same requests to the real kube-apiserver and to ours, the same pods to kube-scheduler and to ours,
# and our scheduler on the real kube-apiserver. Builds the real ones on first use.
set -euo pipefail
cd "$(dirname "$0")"
../../tools/setup/kube.sh kube-apiserver kube-controller-manager kube-scheduler kubectl
# The kubectl session runs live on both sides only when it is asked for (--part kubectl): make test plays it against what
# was recorded from the real cluster.
if [ $# -eq 0 ]; then
  set -- --part cases --part managed-fields --part schemas --part scheduling --part manager
  # The endpoints of a node as kubelet's: the real kube-apiserver reaches them over SPDY.
  KUBECTL=$(../../tools/setup/kube.sh --kubectl)
  export KUBECTL
  (cd .. && GANGWAY_E2E_SUBJECT=real /usr/bin/python3 -B -m pytest -q e2e/streams_test.py)
fi
exec /usr/bin/python3 -B run.py --quiet "$@"
