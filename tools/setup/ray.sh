#!/bin/sh
# Prints the folder of a virtual environment that has Ray with its dashboard, cached outside the clone. Of pods on this
# machine's own files, those see it whose PATH begins with its bin. With --if-present it installs nothing, and fails
# where there is none.
# The environment is made in a temporary folder and renamed, so that an interrupted set-up is not mistaken for a whole one.
set -eu

version=2.60.0
cache=${XDG_CACHE_HOME:-$HOME/.cache}/gangway
venv=$cache/ray-$version

if [ ! -x "$venv/bin/ray" ]; then
    if [ "${1:-}" = --if-present ]; then exit 1; fi
    mkdir -p "$cache"
    unfinished=$(mktemp -d "$cache/ray.XXXXXX")
    trap 'rm -rf "$unfinished"' EXIT
    printf 'ray.sh: installing ray %s (about 400 MB)\n' "$version" >&2
    /usr/bin/python3 -m venv "$unfinished" >&2
    "$unfinished/bin/python" -m pip install --quiet --disable-pip-version-check "ray[default]==$version" >&2
    # Programs name their Python, which has another name from now on.
    grep -rlI "^#!$unfinished/" "$unfinished/bin" | xargs sed -i "1s|^#!$unfinished/|#!$venv/|"
    chmod 755 "$unfinished"
    mv -T "$unfinished" "$venv"
fi
printf '%s\n' "$venv"
