#!/bin/sh
# Set up .venv if need be and run the tests; arguments go to pytest.
#
#     sh scripts/test.sh
#     sh scripts/test.sh tests/cli -x
set -eu
cd "$(dirname "$0")/.."
sh scripts/setup.sh
exec .venv/bin/python -m pytest --quiet --numprocesses auto "$@"
