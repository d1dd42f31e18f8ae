#!/bin/sh
# venv.sh NAME VERSION MODULE SIZE REQUIREMENT [--if-present]: prints the folder of a virtual environment with that
# requirement of PyPI, cached outside the clone. With --if-present it installs nothing, and fails where there is none.
# Of pods on this machine's own files, those see it that mount it at the same place: its programs name their Python.
#
# The environment is made in a temporary folder and renamed when MODULE can be imported, so that an interrupted set-up is
# not mistaken for a whole one.
set -eu

name=$1 version=$2 module=$3 size=$4 requirement=$5
cache=${XDG_CACHE_HOME:-$HOME/.cache}/gangway
venv=$cache/$name-$version

if [ ! -x "$venv/bin/python" ]; then
    if [ "${6:-}" = --if-present ]; then exit 1; fi
    mkdir -p "$cache"
    unfinished=$(mktemp -d "$cache/$name.XXXXXX")
    trap 'rm -rf "$unfinished"' EXIT
    printf 'installing %s %s (about %s)\n' "$name" "$version" "$size" >&2
    /usr/bin/python3 -m venv "$unfinished" >&2
    "$unfinished/bin/python" -m pip install --quiet --disable-pip-version-check "$requirement" >&2
    "$unfinished/bin/python" -c "import $module"
    grep -rlI "^#!$unfinished/" "$unfinished/bin" | xargs sed -i "1s|^#!$unfinished/|#!$venv/|"
    chmod 755 "$unfinished"
    mv -T "$unfinished" "$venv"
fi
printf '%s\n' "$venv"
