#!/usr/bin/env bash
# The names of the fuzz targets, one a line.
set -euo pipefail
cd "$(dirname "$0")"
for source in *_fuzz.cc; do
  echo "${source%_fuzz.cc}"
done
