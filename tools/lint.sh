#!/usr/bin/env bash
# Lint: formatting, layers, shell scripts, clang-tidy. With --changed BASE only what changed since BASE is tidied, since
# clang-tidy is slower than a full build; --quick leaves it out.
set -euo pipefail
cd "$(dirname "$0")/.."

base=
[ "${1:-}" = --changed ] && base=${2:?"--changed needs a revision"}

mapfile -t sources < <(git ls-files 'src/*.h' 'src/*.cc' 'apps/*.h' 'apps/*.cc' 'tests/*.h' 'tests/*.cc')
clang-format-19 --dry-run --Werror "${sources[@]}"
echo "format: in order"
tools/check_layers.py
mapfile -t scripts < <(git ls-files '*.sh' .ci/run)
shellcheck "${scripts[@]}"
echo "shell scripts: in order"
[ "${1:-}" = --quick ] && exit 0

if [ -n "$base" ]; then
  mapfile -t tidied < <(git diff --name-only --diff-filter=d "$base" -- 'src/*.cc' 'apps/*.cc')
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
