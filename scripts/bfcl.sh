#!/bin/sh
# Install into .venv what the comparison with BFCL's own checker needs: bfcl-eval and its parsers of Java and JavaScript.
#
#     sh scripts/bfcl.sh [VENV]             default VENV: .venv
#     VENV/bin/python -m pytest tests/tasks/refusal/call_checks
#
# Without dependencies, as bfcl-eval asks for every provider it knows, and the checker needs none of them.
set -eu
cd "$(dirname "$0")/.."
. scripts/environment.sh
venv=${1:-.venv}
[ "$venv" != .venv ] || sh scripts/setup.sh
wanted=$("$venv/bin/python" -c 'from talm_sim.tasks.refusal.call_checks.official import BFCL_REQUIREMENTS as wanted; print(*wanted)')
# shellcheck disable=SC2086
environment "$venv" scripts/bfcl.sh --no-deps $wanted
