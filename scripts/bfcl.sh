#!/bin/sh
# Install into .venv what the comparisons with BFCL's own checkers and evaluator need: bfcl-eval, its parsers of Java and JavaScript, and three small packages.
#
#     sh scripts/bfcl.sh [VENV]             default VENV: .venv
#     VENV/bin/python -m pytest tests/tasks/refusal/call_checks tests/tasks/refusal/bfcl tests/tasks/refusal/turns
#
# Without dependencies, as bfcl-eval asks for every provider it knows, and neither needs them.
set -eu
cd "$(dirname "$0")/.."
. scripts/environment.sh
venv=${1:-.venv}
[ "$venv" != .venv ] || sh scripts/setup.sh
wanted=$("$venv/bin/python" -c 'from talm_sim.tasks.refusal.call_checks.official import BFCL_REQUIREMENTS as wanted; print(*wanted)')
# shellcheck disable=SC2086
environment "$venv" scripts/bfcl.sh --no-deps $wanted overrides==7.7.0 python-dotenv==1.2.4 mpmath==1.3.0
