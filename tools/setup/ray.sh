#!/bin/sh
# Prints the folder of a virtual environment that has Ray with its dashboard (venv.sh). --if-present installs nothing.
exec "$(dirname "$0")/venv.sh" ray 2.60.0 ray "400 MB" "ray[default]==2.60.0" "$@"
