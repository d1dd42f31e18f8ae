#!/usr/bin/env bash
# Fuzzes: run.sh [SECONDS [TARGET...]]. Every target for SECONDS (60), or those that are named, on top of its corpus.
# What is found stays in build/fuzz/findings; replay it with build/fuzz/bin/fuzz_TARGET FILE.
set -euo pipefail
cd "$(dirname "$0")/../.."

seconds=${1:-60}
shift || true
build=${GANGWAY_FUZZ_BUILD:-build/fuzz}
targets=("$@")
if [ ${#targets[@]} -eq 0 ]; then
  mapfile -t targets < <(tests/fuzz/targets.sh)
fi

scratch=$(mktemp -d "${TMPDIR:-/tmp}/gangway-fuzz-XXXXXX")
fuzzer=
clean_up() {
  if [ -n "$fuzzer" ]; then kill "$fuzzer" 2>/dev/null || true; fi
  rm -rf "$scratch"
}
trap clean_up EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

cmake --preset fuzz -B "$build" >/dev/null
cmake --build "$build" -j "${JOBS:-$(nproc)}" --target "${targets[@]/#/fuzz_}"

passed=0
failed=0
for target in "${targets[@]}"; do
  findings=$build/findings/$target
  mkdir -p "$findings" "$scratch/$target"
  options=(-max_total_time="$seconds" -timeout=20 -rss_limit_mb=2048 -print_final_stats=1 -artifact_prefix="$findings/")
  dictionary=tests/fuzz/dictionaries/$target.dict
  if [ -f "$dictionary" ]; then options+=(-dict="$dictionary"); fi
  # New inputs go to the first folder; the corpus of the repository is only read.
  "$build/bin/fuzz_$target" "${options[@]}" "$scratch/$target" "tests/fuzz/corpus/$target" >"$scratch/log" 2>&1 &
  fuzzer=$!
  if wait "$fuzzer"; then
    runs=$(sed -n 's/^stat::number_of_executed_units: *//p' "$scratch/log")
    echo "fuzz $target: ok, $runs inputs in ${seconds} s"
    passed=$((passed + 1))
  else
    tail -n 60 "$scratch/log"
    echo "fuzz $target: FAILED, the input is in $findings"
    failed=$((failed + 1))
  fi
  fuzzer=
done
echo "fuzz: $passed passed, $failed failed"
[ "$failed" -eq 0 ]
