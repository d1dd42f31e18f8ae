#!/usr/bin/env bash
# Does the simulation find bugs? Puts each of mutants/*.patch into a copy of the sources, one at a time, and fails unless
# some seed breaks a law because of it.
#
#   mutants.sh [NAME...]      only those; SEEDS=A..B says how far to look, JOBS how many at once, COPY where the copy is made
#                             and kept, so that the next run has less to build
#
# The sound sources must pass the same seeds: that is what `make test` sees to.
set -euo pipefail
cd "$(dirname "$0")/../.."

seeds=${SEEDS:-1..400}
jobs=${JOBS:-$(nproc)}
here=$PWD/tests/sim/mutants
if [ -n "${COPY:-}" ]; then
  copy=$COPY
  mkdir -p "$copy"
else
  copy=$(mktemp -d "${TMPDIR:-/tmp}/gangway-mutants-XXXXXX")
  trap 'rm -rf "$copy"' EXIT
fi
trap 'exit 130' INT
trap 'exit 143' TERM

if [ $# -eq 0 ]; then mapfile -t names < <(find "$here" -name '*.patch' -printf '%f\n' | sed 's/\.patch$//' | sort); else names=("$@"); fi

# Only what differs, so that no more is built than must be. A kept copy may still have a mutant in it.
git ls-files -z --cached --others --exclude-standard | while IFS= read -r -d '' file; do
  if [ -f "$file" ] && ! cmp -s "$file" "$copy/$file"; then
    mkdir -p "$copy/$(dirname "$file")"
    cp "$file" "$copy/$file"
  fi
done
cd "$copy"
cmake --preset release -DGANGWAY_TESTS=ON >/dev/null
cmake --build build -j "$jobs" --target sim >"$copy/build.log" 2>&1 || { tail -n 30 "$copy/build.log"; exit 1; }

survived=0
for name in "${names[@]}"; do
  started=$SECONDS
  if ! patch --quiet --strip=1 --dry-run <"$here/$name.patch"; then
    echo "mutant $name: the patch does not fit any more"
    survived=$((survived + 1))
    continue
  fi
  patch --quiet --strip=1 <"$here/$name.patch"
  if ! cmake --build build -j "$jobs" --target sim >"$copy/build.log" 2>&1; then
    grep -m 5 'error:' "$copy/build.log" || tail -n 20 "$copy/build.log"
    echo "mutant $name: does not compile"
    survived=$((survived + 1))
  elif build/bin/sim --seeds "$seeds" --jobs "$jobs" --stop >"$copy/log" 2>&1; then
    echo "mutant $name: SURVIVED seeds $seeds"
    survived=$((survived + 1))
  else
    # The first seed that failed, and the first law it broke.
    echo "mutant $name: found in $((SECONDS - started)) s, $(grep -m 1 -A 1 'FAILED' "$copy/log" | tr -s '\n ' ' ' | cut -c 1-160)"
  fi
  patch --quiet --strip=1 --reverse <"$here/$name.patch"
done
echo "mutants: $((${#names[@]} - survived)) of ${#names[@]} found"
[ "$survived" -eq 0 ]
