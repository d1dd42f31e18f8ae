#!/bin/sh
# Prints the path of a Python that has the `kubernetes` client, in a virtual environment cached outside the clone.
# The environment is made in a temporary folder and renamed, so that an interrupted set-up is not mistaken for a whole one.
set -eu

version=33.1.0
cache=${XDG_CACHE_HOME:-$HOME/.cache}/gangway
venv=$cache/python-client-$version

if [ ! -x "$venv/bin/python" ]; then
    mkdir -p "$cache"
    unfinished=$(mktemp -d "$cache/python-client.XXXXXX")
    trap 'rm -rf "$unfinished"' EXIT
    printf 'python_client.sh: installing the kubernetes client %s\n' "$version" >&2
    /usr/bin/python3 -m venv "$unfinished" >&2
    "$unfinished/bin/python" -m pip install --quiet --disable-pip-version-check "kubernetes==$version" >&2
    mv -T "$unfinished" "$venv"
fi
printf '%s\n' "$venv/bin/python"
