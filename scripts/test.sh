#!/bin/sh
# Set up .venv if need be and run the tests; arguments go to pytest.
#
#     sh scripts/test.sh
#     sh scripts/test.sh tests/cli -x
set -eu
cd "$(dirname "$0")/.."
# The tests start many processes; with this set, each would compile the package anew.
unset PYTHONDONTWRITEBYTECODE
sh scripts/setup.sh

# Most of what the tests wait for is the disk: each row of a run is a commit. Their files go to memory where there is enough of it.
if [ -z "${TMPDIR:-}" ] && folder=$(mktemp -d /dev/shm/talm-sim-tests.XXXXXX 2>/dev/null); then
    trap 'rm -rf "$folder"' EXIT
    trap 'exit 130' INT
    trap 'exit 143' TERM
    printf '#!/bin/sh\n' >"$folder/runs" && chmod +x "$folder/runs"
    if "$folder/runs" 2>/dev/null && [ "$(df -Pk "$folder" | awk 'NR == 2 { print $4 }')" -gt 2000000 ]; then
        export TMPDIR="$folder"
    fi
fi
# Each process takes neighbours, which share what a module's fixtures made, and at the end what another one still has to do. There is one more than
# there are cores, as many tests wait for a process that they started.
processes=$(($(getconf _NPROCESSORS_ONLN) + 1))
if [ $# -gt 0 ]; then
    .venv/bin/python -m pytest --quiet --numprocesses "$processes" --dist worksteal "$@"
    exit
fi
# In a fresh checkout, rewriting every assertion takes 16 s in each process.
.venv/bin/python -m pytest --quiet --numprocesses "$processes" --dist worksteal --assert plain || {
    echo "what failed, again and with the values that were compared: sh scripts/test.sh --last-failed"
    exit 1
}
