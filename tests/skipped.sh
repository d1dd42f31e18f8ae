#!/usr/bin/env bash
# Names the unit tests that the last run of ctest in BUILD left out, and why: skipped.sh BUILD. Prints nothing when all ran.
set -euo pipefail
awk '
  /^\[ RUN      \]/ { test = $4; reason = "" }
  /Skipped$/ { getline; reason = $0 }
  /^\[  SKIPPED \] .* \([0-9]+ ms\)/ { printf "unit: skipped %s: %s\n", $4, reason; skipped++ }
' "$1/Testing/Temporary/LastTest.log"
