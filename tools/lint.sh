#!/usr/bin/env bash
# Lint: formatting, layers, shell scripts, clang-tidy. Since clang-tidy is slower than a full build, --changed BASE tidies
# only what changed since BASE, --recent N only the N sources that changed last, and --quick nothing.
set -euo pipefail
cd "$(dirname "$0")/.."

case "${1:-}" in
  "" | --quick) ;;
  --changed) base=${2:?"--changed needs a revision"} ;;
  --recent) recent=${2:?"--recent needs a number"} ;;
  *) echo "usage: lint.sh [--quick | --changed BASE | --recent N]" >&2; exit 2 ;;
esac

mapfile -t sources < <(git ls-files 'src/*.h' 'src/*.cc' 'apps/*.h' 'apps/*.cc' 'tests/*.h' 'tests/*.cc')
clang-format-19 --dry-run --Werror "${sources[@]}"
echo "format: in order"
tools/check_layers.py
mapfile -t scripts < <(git ls-files '*.sh' .ci/run)
shellcheck "${scripts[@]}"
echo "shell scripts: in order"
[ "${1:-}" = --quick ] && exit 0

if [ -n "${base:-}" ]; then
  mapfile -t tidied < <(git diff --name-only --diff-filter=d "$base" -- 'src/*.cc' 'apps/*.cc')
elif [ -n "${recent:-}" ]; then
  mapfile -t tidied < <(git log --format= --name-only -- 'src/*.cc' 'apps/*.cc' | awk '!seen[$0]++' |
    while read -r file; do if [ -f "$file" ]; then echo "$file"; fi; done | awk -v most="$recent" 'NR <= most')
else
  mapfile -t tidied < <(git ls-files 'src/*.cc' 'apps/*.cc')
fi
if [ ${#tidied[@]} -gt 0 ]; then
  # Its own configuration: clang cannot read the headers that g++ has precompiled.
  cmake --preset tidy >/dev/null
  cmake --build build/tidy --target gangway_kinds >/dev/null
  printf '%s\n' "${tidied[@]}" | xargs -P "$(nproc)" -n 2 clang-tidy-19 -p build/tidy --quiet --warnings-as-errors='*' 2>/dev/null
fi
echo "clang-tidy: in order (${#tidied[@]} files)"
