#!/bin/sh
# Prints the folder of a virtual environment that has TensorFlow (venv.sh). --if-present installs nothing.
exec "$(dirname "$0")/venv.sh" tensorflow 2.21.0 tensorflow "1.5 GB" "tensorflow-cpu==2.21.0" "$@"
