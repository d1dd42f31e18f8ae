#!/usr/bin/env bash
# How much of its parser each target's corpus reaches: coverage.sh [TARGET...]. Fails below 80 % of the lines of the files
# that coverage_table.txt names. FUZZ_SECONDS=N searches for N seconds first and counts what that reaches, too.
set -euo pipefail
cd "$(dirname "$0")/../.."

least=80
build=${GANGWAY_COVERAGE_BUILD:-build/fuzz-coverage}
seconds=${FUZZ_SECONDS:-0}
targets=("$@")
if [ ${#targets[@]} -eq 0 ]; then
  mapfile -t targets < <(tests/fuzz/targets.sh)
fi

scratch=$(mktemp -d "${TMPDIR:-/tmp}/gangway-coverage-XXXXXX")
trap 'rm -rf "$scratch"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

cmake --preset fuzz -B "$build" -DGANGWAY_SANITIZE= -DGANGWAY_FUZZ_COVERAGE=ON >/dev/null
cmake --build "$build" -j "${JOBS:-$(nproc)}" --target "${targets[@]/#/fuzz_}"

# The lines of a file that the corpus reached, in percent with one digit.
percentage() {
  llvm-cov-19 export -summary-only -instr-profile="$scratch/$1.profdata" "$build/bin/fuzz_$1" "src/$2" |
    /usr/bin/python3 -c 'import json, sys; print("%.1f" % json.load(sys.stdin)["data"][0]["totals"]["lines"]["percent"])'
}

passed=0
failed=0
for target in "${targets[@]}"; do
  read -r -a files < <(sed -n "s/^$target  *//p" tests/fuzz/coverage_table.txt) || true
  if [ ${#files[@]} -eq 0 ]; then
    echo "$target: FAILED, coverage_table.txt does not say which files it is for"
    failed=$((failed + 1))
    continue
  fi
  mkdir -p "$scratch/$target"
  run=(-runs=0)
  if [ "$seconds" -gt 0 ]; then run=(-max_total_time="$seconds"); fi
  if ! LLVM_PROFILE_FILE="$scratch/$target.profraw" "$build/bin/fuzz_$target" "${run[@]}" -artifact_prefix="$scratch/" \
    "$scratch/$target" "tests/fuzz/corpus/$target" >"$scratch/log" 2>&1; then
    tail -n 30 "$scratch/log"
    echo "$target: FAILED, the corpus does not pass"
    failed=$((failed + 1))
    continue
  fi
  llvm-profdata-19 merge -sparse "$scratch/$target.profraw" -o "$scratch/$target.profdata"
  for file in "${files[@]}"; do
    reached=$(percentage "$target" "$file")
    if awk "BEGIN { exit !($reached >= $least) }"; then
      printf '%-16s %-36s %6s %%\n' "$target" "$file" "$reached"
      passed=$((passed + 1))
    else
      printf '%-16s %-36s %6s %%  FAILED: less than %s %%\n' "$target" "$file" "$reached" "$least"
      failed=$((failed + 1))
    fi
  done
done
echo "fuzz-coverage: $passed passed, $failed failed"
[ "$failed" -eq 0 ]
