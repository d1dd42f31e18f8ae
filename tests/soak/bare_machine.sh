#!/usr/bin/env bash
# Whether the README's two commands do all the set-up themselves: a Debian 12 with nothing but git, make and certificates
# gets a fresh clone of HEAD, and there `make demo` and then `make test` have to run through. bare_machine.sh [FOLDER]
# keeps the machine's root file system in FOLDER; without one it is made in a temporary folder and removed in the end.
#
# Packages come from where this machine has them: its apt sources, its pip settings and its certificates are copied.
set -euo pipefail
cd "$(dirname "$0")/../.."

if [ "$(id -u)" -ne 0 ] || ! command -v debootstrap >/dev/null; then
  echo "bare machine: needs root and debootstrap" >&2
  exit 2
fi
root=${1:-}
if [ -z "$root" ]; then
  root=$(mktemp -d "${TMPDIR:-/tmp}/gangway-bare-XXXXXX")
  trap 'rm -rf --one-file-system "$root"' EXIT
fi

mirror() {
  sed -n 's/^URIs: *\([^ ]*\).*/\1/p; s/^deb \(\[[^]]*\] \)\?\([^ ]*\).*/\2/p' \
    /etc/apt/sources.list /etc/apt/sources.list.d/*.sources /etc/apt/sources.list.d/*.list 2>/dev/null | head -n 1
}

install_debian() {
  debootstrap --variant=minbase --include=git,make,ca-certificates bookworm "$root" "$(mirror)"
  rm -f "$root/etc/apt/sources.list"
  local copied
  for copied in /etc/apt/sources.list /etc/apt/sources.list.d /etc/apt/apt.conf.d /etc/apt/auth.conf.d /etc/apt/keyrings \
    /etc/apt/trusted.gpg.d /usr/share/keyrings /etc/ssl/certs /usr/local/share/ca-certificates /etc/resolv.conf /etc/hosts \
    /etc/pip.conf; do
    [ -e "$copied" ] || continue
    mkdir -p "$root$(dirname "$copied")"
    cp -aL "$copied" "$root$(dirname "$copied")/" 2>/dev/null || cp -a "$copied" "$root$(dirname "$copied")/"
  done
}

# Its own mounts and processes; the root is changed for good (not chroot), since container runtimes change it once more.
# shellcheck disable=SC2016  # expanded by the inner shell
enter='
  mount --rbind "$1" "$1" && cd "$1" && mkdir -p .outside
  mount -t proc proc proc && mount --rbind /dev dev && mount --rbind /sys sys
  mount -t tmpfs tmpfs run && mount -t tmpfs tmpfs tmp && mkdir -p run/lock
  pivot_root . .outside && umount -l /.outside
  shift && cd / && exec env -i HOME=/root LANG=C.UTF-8 PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin "$@"'
inside() {
  unshare --mount --pid --uts --ipc --fork --kill-child --propagation private /bin/bash -ec "$enter" enter "$root" "$@"
}

timed() {
  local started=$SECONDS
  echo "bare machine: make $1 …"
  inside make -C /root/gangway "$1"
  echo "bare machine: make $1 took $((SECONDS - started)) s"
}

[ -e "$root/etc/debian_version" ] || install_debian
commit=$(git rev-parse HEAD)
rm -rf "$root/root/gangway"
git clone -q . "$root/root/gangway"
echo "bare machine: $(cat "$root/etc/debian_version"), $(find "$root/var/lib/dpkg/info" -name '*.list' | wc -l) packages, $commit"
timed demo
timed test
