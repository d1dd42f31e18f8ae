#!/usr/bin/env bash
# make demo: a training over MPI fills the cluster, an urgent one takes its room, and it comes back by itself and goes on
# from its checkpoint (examples/mpi-preemption). Says at each step what happens. Leaves nothing behind.
#
# Where containers cannot run the nodes are simulated: the same commands, jobs and decisions, but nothing is trained.
set -euo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)
example=$root/examples/mpi-preemption
data=$(mktemp -d)
export KUBECONFIG=$data/kubeconfig
mkdir "$data/bin" "$data/checkpoints"
ln -s "$root/build/bin/gangway" "$root/build/bin/arena" "$("$root/tools/setup/kube.sh" --kubectl)" "$data/bin/"
export PATH=$data/bin:$PATH

finish() {
  gangway down --data-dir "$data/cluster" >/dev/null 2>&1 || true
  rm -rf "$data"
}
trap finish EXIT

say() { printf '\n\033[1m# %s\033[0m\n' "$*"; }
# run COMMAND...: shows it as somebody would type it, and does it.
run() {
  local word line=
  for word in "$@"; do
    case $word in *[[:space:]]*) word="\"$word\"" ;; esac
    line+="$word "
  done
  printf '$ %s\n' "${line% }"
  "$@"
}
# until_so WHAT COMMAND...: until it succeeds. Slow machines have their time.
until_so() {
  local what=$1 end=$((SECONDS + 300))
  shift
  printf '… until %s\n' "$what"
  until "$@"; do
    if [ "$SECONDS" -ge "$end" ]; then
      echo "demo: waited five minutes in vain until $what" >&2
      arena list >&2
      kubectl get pods,events >&2
      exit 1
    fi
    sleep 0.3
  done
}
is() { [[ $(arena get "$1" 2>/dev/null) == "STATUS: $2"* ]]; }
has_epochs() { [ -e "$data/checkpoints/losses.csv" ] && [ "$(wc -l <"$data/checkpoints/losses.csv")" -ge "$1" ]; }
# An epoch that was done twice came to the same loss, or it is there twice.
losses_of() { cut -d, -f2- "$data/$1/losses.csv" | sort -u | sort -n; }

# submit NAME SECONDS EPOCHS FLAG...: two workers with a GPU each, for that long at least.
submit() {
  local name=$1 duration=$2 epochs=$3
  shift 3
  if [ "$containers" = yes ]; then
    set -- "$@" --data-dir="$example":/example --data-dir="$root/python":/python \
      --env=PYTHONPATH=/python --env=OMP_NUM_THREADS=1
  else
    set -- "$@" --annotation=gangway.dev/simulated-duration="${duration}s" --annotation=gangway.dev/simulated-peer-loss=fail
  fi
  run arena submit mpijob --name="$name" --priority="$name" --gpus=1 --workers=2 --image=host "$@" \
    "mpirun /usr/bin/python3 /example/train.py --epochs=$epochs"
}

say "A cluster on this machine: three masters, and two workers with a GPU each"
up=(gangway up --cluster "$example/cluster-of-two.yaml" --data-dir "$data/cluster" --port 0 --kubeconfig "$KUBECONFIG" --detach)
run "${up[@]}"
containers=yes
case $(kubectl get nodes -o jsonpath='{.items[0].status.nodeInfo.containerRuntimeVersion}') in
  simulated*) containers=no ;;
esac
if [ "$containers" = no ]; then
  say "This machine cannot run containers (they need root), so pods are simulated: they take their time and do nothing." \
    "What you see of jobs, queues and preemption is real; there will be no losses to look at."
elif ! command -v mpirun >/dev/null || ! /usr/bin/python3 -c 'import mpi4py, numpy' 2>/dev/null; then
  echo "demo: Open MPI or mpi4py is not installed: tools/setup/deps.sh demo" >&2
  exit 1
fi
run kubectl get nodes

say "Who may be how urgent is the administrator's choice"
run kubectl create -f "$example/pc.yaml"

say "A researcher submits a training over both workers; it wants to come back if somebody needs its room"
submit medium 30 60 --on-preempt=Requeue --checkpoint-dir=/checkpoints --data-dir="$data/checkpoints":/checkpoints
until_so "it runs" is medium RUNNING
run arena get medium
if [ "$containers" = yes ]; then
  say "Its two ranks train together: after every step they add up their gradients. The loss falls"
  until_so "it has done eight epochs, and a checkpoint" has_epochs 8
  run arena logs medium
fi

say "Now the cluster is full"
run arena top node

say "kill -9 of the server: the training does not even notice"
pid=$(cat "$data/cluster/gangway.pid")
run kill -9 "$pid"
while kill -0 "$pid" 2>/dev/null; do :; done
run "${up[@]}"
run kubectl get pods -o wide

say "Somebody is in a hurry, and mistypes"
run arena submit mpijob --name=critical --priority=urgent --gpus=1 --workers=2 --image=host "mpirun train" || true

say "The critical training comes, and takes the room of the other"
submit critical 10 20
until_so "the first is queued again" is medium QUEUING
until_so "the critical one runs" is critical RUNNING
run arena get critical

say "Who preempted it? Its status says it, and so do the events of its pods"
run arena get medium
run kubectl get events --field-selector reason=Preempted

say "The critical training ends. Nobody has to do anything for the other to come back"
until_so "the critical one has ended" is critical SUCCEEDED
until_so "the first runs again" is medium RUNNING
run arena get medium

say "It comes to its end"
until_so "it has ended" is medium SUCCEEDED
run arena list
if [ "$containers" = yes ]; then
  say "It went on from its last checkpoint"
  run arena logs medium | grep -v '^epoch [3-5]'
  say "Attempt, epoch and loss, where one attempt ended and the next one began"
  grep -n -B 3 -A 3 -m 1 '^2,' "$data/checkpoints/losses.csv"
  say "The same training without a cluster, undisturbed: does it come to the same losses?"
  mkdir "$data/alone"
  run env OMP_NUM_THREADS=1 OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 PYTHONPATH="$root/python" \
    CHECKPOINT_DIR="$data/alone" mpirun -np 2 --oversubscribe /usr/bin/python3 -B "$example/train.py" --epochs=60 --seconds=0 |
    tail -n 2
  if cmp <(losses_of checkpoints) <(losses_of alone); then
    echo "Of all 60 epochs, to the last digit."
  else
    echo "demo: the losses differ" >&2
    exit 1
  fi
fi

say "What it is made of"
run gangway status --data-dir "$data/cluster"
run arena delete medium critical
run gangway down --data-dir "$data/cluster"
if [ "$containers" = yes ]; then
  say "That was all: real containers and a real training, and nothing is left of them on this machine."
else
  say "That was all. This machine cannot run containers, so the pods were simulated. The rest is a real cluster."
fi
