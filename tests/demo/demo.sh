#!/usr/bin/env bash
# make demo: a cluster starts, kubectl talks to it, it is killed, and nothing is lost. Leaves nothing behind.
set -euo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)
gangway=$root/build/bin/gangway
kubectl=$("$root/tools/setup/kube.sh" --kubectl)
data=$(mktemp -d)
export KUBECONFIG=$data/kubeconfig

finish() {
  "$gangway" down --data-dir "$data" >/dev/null 2>&1 || true
  rm -rf "$data"
}
trap finish EXIT

say() { printf '\n\033[1m# %s\033[0m\n' "$*"; }
run() {
  printf '$ %s\n' "${*/#$kubectl/kubectl}"
  "$@"
}

say "A cluster of three GPU nodes, in one process"
run "$gangway" up --nodes 3 --cpus-per-node 32 --memory-per-node 128Gi --gpus-per-node 4 --data-dir "$data" --port 0 --detach
run "$kubectl" get nodes

say "Who may be urgent is the administrator's choice"
run "$kubectl" apply -f - <<'YAML'
apiVersion: scheduling.k8s.io/v1
kind: PriorityClass
metadata: {name: critical, annotations: {gangway.dev/restricted: "true"}}
value: 1100000
---
apiVersion: scheduling.k8s.io/v1
kind: PriorityClass
metadata: {name: medium}
value: 1000000
YAML
run "$kubectl" get priorityclasses

say "Objects are checked, defaulted and owned as on any Kubernetes"
run "$kubectl" create namespace team-a
run "$kubectl" apply --server-side -n team-a -f - <<'YAML'
apiVersion: v1
kind: Pod
metadata: {name: train, labels: {job: mnist}}
spec:
  priorityClassName: medium
  containers:
  - name: train
    image: example.com/mnist:1
    resources: {limits: {nvidia.com/gpu: 1}}
YAML
run "$kubectl" get pods -n team-a -o wide
printf '$ kubectl apply (a mistake)\n'
"$kubectl" apply -n team-a -f - <<'YAML' || true
apiVersion: v1
kind: Pod
metadata: {name: wrong}
spec:
  priorityClassName: urgent
  containers: [{name: train, image: "example.com/mnist:1"}]
YAML

say "Your own kinds"
run "$kubectl" apply -f - <<'YAML'
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: experiments.example.com}
spec:
  group: example.com
  names: {kind: Experiment, plural: experiments, singular: experiment, shortNames: [exp]}
  scope: Namespaced
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec: {type: object, properties: {epochs: {type: integer, minimum: 1, default: 10}}}
    additionalPrinterColumns: [{name: Epochs, type: integer, jsonPath: .spec.epochs}]
YAML
run "$kubectl" wait --for=condition=established crd/experiments.example.com
run "$kubectl" apply -n team-a -f - <<'YAML'
apiVersion: example.com/v1
kind: Experiment
metadata: {name: first}
spec: {}
YAML
run "$kubectl" get exp -n team-a

say "kill -9, and everything is still there"
pid=$(cat "$data/gangway.pid")
printf '$ kill -9 %s\n' "$pid"
kill -9 "$pid"
while kill -0 "$pid" 2>/dev/null; do :; done
run "$gangway" up --nodes 3 --cpus-per-node 32 --memory-per-node 128Gi --gpus-per-node 4 --data-dir "$data" --port 0 --detach
run "$kubectl" get pods,exp -n team-a

say "What it is made of"
run "$gangway" status --data-dir "$data"

say "Deleting a namespace takes everything in it along"
run "$kubectl" delete namespace team-a
run "$gangway" down --data-dir "$data"
say "That was all. Containers are not started yet; the rest is a real cluster's API."
