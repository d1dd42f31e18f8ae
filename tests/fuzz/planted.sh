#!/usr/bin/env bash
# Does the fuzzing find bugs? Plants one in a copy of the sources (planted/quantity.patch: a read one byte behind the end
# of an exponent) and fails unless the fuzzer finds it within a minute, and finds it only there.
set -euo pipefail
cd "$(dirname "$0")/../.."

seconds=60
copy=$(mktemp -d "${TMPDIR:-/tmp}/gangway-planted-XXXXXX")
trap 'rm -rf "$copy"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

mkdir -p "$copy/src" "$copy/tests/fuzz"
cp -r src/base "$copy/src/"
cp tests/fuzz/quantity_fuzz.cc tests/fuzz/fuzz.h "$copy/tests/fuzz/"

compile() {
  clang++-19 -std=c++20 -O1 -g1 -fsanitize=address,undefined,fuzzer-no-link -fno-sanitize-recover=all \
    -D_GLIBCXX_ASSERTIONS -I"$copy/src" -I"$copy/tests/fuzz" -c "$copy/$1" -o "$copy/$2.o"
}
link_with() {
  clang++-19 -fsanitize=address,undefined,fuzzer "$copy"/{target,decimal,error,check}.o "$copy/$1.o" -lfmt -o "$copy/fuzz_$1"
}
compile tests/fuzz/quantity_fuzz.cc target
for name in decimal error check; do compile "src/base/$name.cc" "$name"; done
compile src/base/quantity.cc sound
link_with sound
patch --quiet --directory="$copy" --strip=1 <tests/fuzz/planted/quantity.patch
compile src/base/quantity.cc planted
link_with planted
echo "planted: built with and without the bug"

mkdir "$copy/findings"
if timeout $((seconds + 30)) "$copy/fuzz_planted" -max_total_time="$seconds" -artifact_prefix="$copy/findings/" \
  -dict=tests/fuzz/dictionaries/quantity.dict "$copy/findings" tests/fuzz/corpus/quantity >"$copy/log" 2>&1; then
  echo "planted: FAILED, the bug was not found within $seconds s"
  exit 1
fi
finding=$(find "$copy/findings" -name 'crash-*' -print -quit)
if [ -z "$finding" ]; then
  tail -n 40 "$copy/log"
  echo "planted: FAILED, the fuzzer ended without a finding"
  exit 1
fi
if ! "$copy/fuzz_sound" "$finding" >"$copy/log.sound" 2>&1; then
  tail -n 40 "$copy/log.sound"
  echo "planted: FAILED, the input $(head -c 80 "$finding" | od -An -c | tr -s ' \n' ' ') breaks the sound sources, too"
  exit 1
fi
echo "planted: found by the input$(head -c 80 "$finding" | od -An -c | tr -s ' \n' ' ')"
