#!/usr/bin/env bash
# make demo: a cluster starts, pods run in it, it is killed, and nothing is lost. Leaves nothing behind.
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

up=("$gangway" up --nodes 3 --cpus-per-node 32 --memory-per-node 128Gi --gpus-per-node 4 --data-dir "$data" --port 0 --detach)
say "A cluster of three GPU nodes on this machine"
run "${up[@]}"
run "$kubectl" get nodes
containers=yes
case $("$kubectl" get nodes -o jsonpath='{.items[0].status.nodeInfo.containerRuntimeVersion}') in
  simulated*) containers=no ;;
esac

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
    image: host
    command: [sh, -c, 'echo "GPUs $CUDA_VISIBLE_DEVICES of $NODE"; n=0; while sleep 0.2; do n=$((n+1)); echo step $n; done']
    env: [{name: NODE, valueFrom: {fieldRef: {fieldPath: spec.nodeName}}}]
    resources: {limits: {nvidia.com/gpu: 2}}
YAML
run "$kubectl" wait -n team-a --for=condition=Ready pod/train
run "$kubectl" get pods -n team-a -o wide
if [ "$containers" = yes ]; then
  run "$kubectl" logs -n team-a train
  run "$kubectl" exec -n team-a train -- sh -c 'hostname; nproc; cat /proc/1/cmdline | tr "\0" " "'
  echo
fi
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

say "kill -9 of the server: everything is still there, and the training has gone on"
pid=$(cat "$data/gangway.pid")
printf '$ kill -9 %s\n' "$pid"
kill -9 "$pid"
while kill -0 "$pid" 2>/dev/null; do :; done
run "${up[@]}"
run "$kubectl" get pods,exp -n team-a
if [ "$containers" = yes ]; then run "$kubectl" logs -n team-a train --tail=2; fi

say "A gang of three starts whole or not at all, and an urgent pod takes the room of whoever loses least"
gang() {
  cat <<'YAML'
apiVersion: scheduling.x-k8s.io/v1alpha1
kind: PodGroup
metadata: {name: gang}
spec: {minMember: 2}
YAML
  for i in 0 1 2; do
    cat <<YAML
---
apiVersion: v1
kind: Pod
metadata:
  name: gang-$i
  labels: {scheduling.x-k8s.io/pod-group: gang, batch.kubernetes.io/job-completion-index: "$i"}
spec:
  priorityClassName: medium
  containers:
  - {name: train, image: host, command: [sleep, infinity], resources: {limits: {nvidia.com/gpu: 3}}}
YAML
  done
}
run "$kubectl" apply -n team-a -f - < <(gang)
run "$kubectl" wait -n team-a --for=condition=Ready pod/gang-0 pod/gang-1
"$kubectl" wait -n team-a --for=condition=PodScheduled=False pod/gang-2 --timeout=20s >/dev/null
run "$kubectl" get pods -n team-a -o wide
printf '$ why does gang-2 wait?\n'
"$kubectl" get pod gang-2 -n team-a -o 'jsonpath={.status.conditions[?(@.type=="PodScheduled")].message}{"\n"}'
run "$kubectl" apply -n team-a -f - <<'YAML'
apiVersion: v1
kind: Pod
metadata: {name: urgent}
spec:
  priorityClassName: critical
  containers:
  - {name: train, image: host, command: [sleep, infinity], resources: {limits: {nvidia.com/gpu: 4}}}
YAML
run "$kubectl" wait -n team-a --for=condition=Ready pod/urgent --timeout=60s
run "$kubectl" get pods -n team-a -o wide
run "$kubectl" get allotments -n team-a
run "$kubectl" get events -n team-a --field-selector reason=Preempted

say "What it is made of"
run "$gangway" status --data-dir "$data"

say "Deleting a namespace takes everything in it along"
run "$kubectl" delete namespace team-a
run "$gangway" down --data-dir "$data"
if [ "$containers" = yes ]; then
  say "That was all: real containers, and nothing is left of them on this machine."
else
  say "That was all. This machine cannot run containers, so the pods were simulated. The rest is a real cluster's API."
fi
