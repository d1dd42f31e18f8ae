#!/usr/bin/env bash
# The large runs. run.sh [SLICE...], each alone or all of them:
#
#   crash          kill -9 in the middle of concurrent writers, 200 times
#   containers     kill -9 of server and agent beside running containers, 50 times; torch, mpirun and Ray over two pods,
#                  also through restarts of the server, and trainings that are preempted and go on from their
#                  checkpoints, or with fewer workers
#   asan, tsan     all unit tests, a kubectl session and some seeds of the simulation under the sanitizers;
#                  asan:FOLDER, tsan:FOLDER: one folder's tests
#   fuzz           every fuzz target for a minute; fuzz:TARGET: one of them
#   fuzz-coverage  whether the corpora reach 80 % of the lines of each parser
#   planted        whether fuzzing finds a bug that was put in
#   sim            1,000 seeds of the whole-system simulation, each twice; sim:A..B: other seeds
#   training       500 training jobs of all kinds in one simulated cluster, four seeds; training:A..B: other seeds
#   mutants        whether the simulation finds bugs that were put in
#   properties     the property tests with 10,000 cases each, the laws of planning with 100,000; properties:FOLDER: one
#                  folder's
#   bare           make demo and make test on a Debian with nothing installed
#   rotate [N]     a few minutes of the above, another part for each N; without N the day of the year decides
#
# Prints "N passed, N failed" and fails if anything did. JOBS is the number of compilers at once.
set -euo pipefail
cd "$(dirname "$0")/../.."

jobs=${JOBS:-$(nproc)}
crash_rounds=200
crash_seed=1
property_cases=10000
planning_cases=100000
fuzz_seconds=60
mapfile -t folders < <(find src -name '*_test.cc' | cut -d/ -f2 | sort -u)
mapfile -t with_properties < <(grep -rlE 'RC_GTEST_PROP|rc::check' src --include='*_test.cc' | cut -d/ -f2 | sort -u)
sanitized_seeds=1..50

scratch=$(mktemp -d "${TMPDIR:-/tmp}/gangway-soak-XXXXXX")
child=
clean_up() {
  if [ -n "$child" ]; then
    kill -TERM -- "-$child" 2>/dev/null || true
    wait "$child" 2>/dev/null || true
  fi
  rm -rf "$scratch"
}
trap clean_up EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

passed=0
failed=0
last_status=0
# check NAME COMMAND...: runs it as its own process group, so that it can be ended as a whole, and counts how it ended.
check() {
  local name=$1 started=$SECONDS status=0
  shift
  echo "soak $name: …"
  set -m
  "$@" &
  child=$!
  set +m
  wait "$child" || status=$?
  child=
  if [ "$status" -eq 0 ]; then
    echo "soak $name: ok, $((SECONDS - started)) s"
    passed=$((passed + 1))
  else
    echo "soak $name: FAILED with $status after $((SECONDS - started)) s"
    failed=$((failed + 1))
  fi
  last_status=$status
}
# The same for what the rest stands on: fails when it did.
check_first() {
  check "$@"
  [ "$last_status" -eq 0 ]
}

release() {
  cmake --preset release -DGANGWAY_TESTS=ON >/dev/null
  cmake --build build -j "$jobs" --target "$@"
}

crash() {
  check_first "build gangway" release gangway || return 0
  check "crash" env GANGWAY_BIN="$PWD/build/bin/gangway" \
    /usr/bin/python3 -B tests/e2e/crash_test.py --rounds "$crash_rounds" --seed "$crash_seed"
}

containers() {
  check_first "frameworks" tools/setup/deps.sh frameworks || return 0
  check_first "build gangway" release gangway || return 0
  check "containers" env GANGWAY_BIN="$PWD/build/bin/gangway" GANGWAY_ROUNDS=50 \
    tests/e2e/run.sh -s -m "soak or not soak" containers/crash_test.py containers/frameworks_test.py \
    containers/job_restart_test.py e2e/pytorch_walkthrough_test.py e2e/pytorch_example_test.py \
    e2e/framework_examples_test.py
}

# Properties run inside of the unit tests; RapidCheck reads the number of cases from the environment.
properties() {
  local suite cases
  check_first "build property tests" release "$@" || return 0
  for suite in "$@"; do
    cases=$property_cases
    if [ "$suite" = planning_test ]; then cases=$planning_cases; fi
    check "properties $suite" env RC_PARAMS="max_success=$cases" "build/bin/$suite" --gtest_brief=1
  done
}

sim() {
  check_first "build sim" release sim || return 0
  check "sim $1" build/bin/sim --seeds "$1" --twice --jobs "$jobs"
}

training() {
  check_first "build sim" release sim || return 0
  check "training $1" build/bin/sim --seeds "$1" --training-jobs 500 --jobs "$jobs"
}

# Sanitizers write what they find into files: a server that ended well may still have something to say.
sanitizer_options() {
  local log="log_path=$scratch/report"
  export ASAN_OPTIONS="$log:detect_stack_use_after_return=1:strict_string_checks=1"
  export UBSAN_OPTIONS="$log:print_stacktrace=1"
  export TSAN_OPTIONS="$log:second_deadlock_stack=1"
}

under_sanitizer() {
  local status=0 report
  (
    sanitizer_options
    "$@"
  ) || status=$?
  for report in "$scratch"/report.*; do
    [ -e "$report" ] || continue
    cat "$report"
    rm "$report"
    status=1
  done
  return "$status"
}

kubectl_session() {
  GANGWAY_BIN="$PWD/build/$1/bin/gangway" tests/e2e/run.sh e2e/kubectl_session_test.py
}

sanitizer_build() {
  cmake --preset "$1" >/dev/null
  cmake --build "build/$1" -j "$jobs" --target "${@:2}"
}

# sanitized PRESET [FOLDER...]: without folders everything, and kubectl against the whole server.
sanitized() {
  local preset=$1 folder
  shift
  if [ $# -gt 0 ]; then
    check_first "$preset build" sanitizer_build "$preset" "${@/%/_test}" || return 0
  else
    check_first "$preset build" sanitizer_build "$preset" gangway sim "${folders[@]/%/_test}" || return 0
    set -- "${folders[@]}"
    check "$preset kubectl session" under_sanitizer kubectl_session "$preset"
    check "$preset sim $sanitized_seeds" under_sanitizer "build/$preset/bin/sim" --seeds "$sanitized_seeds" --jobs "$jobs"
  fi
  for folder in "$@"; do
    check "$preset $folder" under_sanitizer "build/$preset/bin/${folder}_test" --gtest_brief=1
  done
}

fuzz() {
  local target
  local -a targets=("$@")
  if [ ${#targets[@]} -eq 0 ]; then mapfile -t targets < <(tests/fuzz/targets.sh); fi
  for target in "${targets[@]}"; do
    check "fuzz $target" tests/fuzz/run.sh "$fuzz_seconds" "$target"
  done
}

# What fits into a few minutes beside everything else that a change has to pass: a short round of crashes with a seed of
# its own, and one more part in turn. Larger fuzz targets join in where they are built already.
rotate() {
  local turn=$1 target part
  local parts=("sim:$((turn * 100 + 1))..$((turn * 100 + 100))" properties:json properties:store
    properties:controllers properties:planning planted asan:base fuzz:quantity fuzz:url fuzz:websocket)
  for target in $(tests/fuzz/targets.sh); do
    if [ -x "build/fuzz/bin/fuzz_$target" ]; then parts+=("fuzz:$target"); fi
  done
  part=${parts[turn % ${#parts[@]}]}
  crash_rounds=10
  crash_seed=$((turn + 1))
  property_cases=500
  planning_cases=2000
  fuzz_seconds=20
  echo "soak rotate: turn $turn is crash and $part"
  crash
  slice "$part"
}

slice() {
  case "$1" in
    crash) crash ;;
    containers) containers ;;
    asan | tsan) sanitized "$1" ;;
    asan:?* | tsan:?*) sanitized "${1%%:*}" "${1#*:}" ;;
    fuzz) fuzz ;;
    fuzz:?*) fuzz "${1#*:}" ;;
    fuzz-coverage) check fuzz-coverage tests/fuzz/coverage.sh ;;
    sim) sim 1..1000 ;;
    sim:?*) sim "${1#*:}" ;;
    training) training 1..4 ;;
    training:?*) training "${1#*:}" ;;
    mutants) check mutants tests/sim/mutants.sh ;;
    bare) check bare tests/soak/bare_machine.sh ;;
    planted) check planted tests/fuzz/planted.sh ;;
    properties) properties "${with_properties[@]/%/_test}" ;;
    properties:?*) properties "${1#*:}_test" ;;
    *)
      echo "soak: there is no slice $1; the first lines of tests/soak/run.sh name them" >&2
      exit 2
      ;;
  esac
}

if [ "${1:-}" = rotate ]; then
  turn=${2:-$(date +%-j)}
  rotate "$turn"
else
  if [ $# -eq 0 ]; then
    set -- crash containers sim training mutants properties planted fuzz fuzz-coverage asan tsan bare
  fi
  for name in "$@"; do slice "$name"; done
fi
echo "soak: $passed passed, $failed failed"
[ "$failed" -eq 0 ]
