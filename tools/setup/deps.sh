#!/usr/bin/env bash
# Installs what building and testing Gangway needs on Debian 12. Says first what is missing and how large it is; quick
# when nothing is. Without root (and without sudo) it lists what is missing and fails.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)

build=(g++ cmake ninja-build make git ccache mold pkg-config
  libboost1.81-dev libboost-json1.81-dev libboost-url1.81-dev libssl-dev libsqlite3-dev libyaml-cpp-dev libcli11-dev
  libfmt-dev libspdlog-dev prometheus-cpp-dev libexpected-dev libre2-dev zlib1g-dev python3 python3-yaml)
test=(libgtest-dev libgmock-dev librapidcheck-dev libbenchmark-dev python3-pytest python3-pytest-xdist etcd-server curl openssl
  busybox-static rsync)
# What `gangway agent` runs containers with; without these (or without root) pods are simulated.
run=(runc crun conmon containernetworking-plugins skopeo umoci iproute2 nftables dnsmasq-base procps)
# What a kubectl is built with where the machine has none (tools/setup/kube.sh).
kubectl=(python3 python3-venv ca-certificates)
# What examples/mpi-preemption trains with.
mpi=(openmpi-bin python3-mpi4py python3-numpy)
# The other training frameworks, for the large runs (tests/soak/run.sh containers); Ray and TensorFlow come from PyPI.
frameworks=(openssh-server python3-torch python3-venv)
# What a bare machine is made with, for the large runs (tests/soak/bare_machine.sh).
bare=(debootstrap)
lint=(clang-19 clang-format-19 clang-tidy-19 libclang-rt-19-dev llvm-19 shellcheck)

case "${1:-all}" in
  build) wanted=("${build[@]}") ;;
  run) wanted=("${run[@]}") ;;
  demo)
    wanted=("${kubectl[@]}")
    # Who is not root cannot run containers, and sees the demo on simulated nodes.
    if [ "$(id -u)" -eq 0 ]; then wanted+=("${run[@]}" "${mpi[@]}"); fi
    ;;
  test) wanted=("${build[@]}" "${run[@]}" "${kubectl[@]}" "${mpi[@]}" "${test[@]}") ;;
  frameworks) wanted=("${mpi[@]}" "${frameworks[@]}") ;;
  all) wanted=("${build[@]}" "${run[@]}" "${kubectl[@]}" "${mpi[@]}" "${test[@]}" "${lint[@]}" "${bare[@]}") ;;
  *) echo "usage: deps.sh [build|run|demo|test|frameworks|all]" >&2; exit 2 ;;
esac

missing=()
for package in "${wanted[@]}"; do
  state=$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null || true)
  [ "$state" = installed ] || missing+=("$package")
done
from_pypi() {
  if [ "${1:-all}" != frameworks ]; then return; fi
  "$here"/ray.sh >/dev/null
  # There is no wheel of it for every machine, and its example says so when it is missing.
  "$here"/tensorflow.sh >/dev/null || echo "deps: TensorFlow cannot be installed here" >&2
}
if [ ${#missing[@]} -eq 0 ]; then
  from_pypi "$@"
  echo "deps: nothing is missing"
  exit 0
fi

as_root=()
if [ "$(id -u)" -ne 0 ]; then
  if command -v sudo >/dev/null 2>&1; then
    as_root=(sudo)
  else
    echo "deps: these packages are missing; install them as root:" >&2
    echo "  apt-get install --no-install-recommends ${missing[*]}" >&2
    exit 1
  fi
fi

"${as_root[@]}" apt-get update -qq
echo "deps: installing ${missing[*]}"
"${as_root[@]}" apt-get install --no-install-recommends --assume-no "${missing[@]}" 2>/dev/null |
  grep -E '^(Need to get|After this operation)' | sed 's/^/deps: /' || true
"${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
from_pypi "$@"
echo "deps: done"
