#!/usr/bin/env bash
# Make the packaged scenarios of task when2call (talm_sim/tasks/when2call/scenarios/*.jsonl) from those of task talm, with the writer that needs
# no model. Equal scenarios give equal bytes. Review them: talm-sim scenarios review talm_sim/tasks/when2call/scenarios/<group>.jsonl
#
#   scripts/make_when2call.sh [TALM-SIM [OPTION...]]      default: .venv/bin/talm-sim; options are those of scripts/select_when2call.py
#
# Only sources with all three items are taken, as many rows of every class; nothing is replaced where there are fewer than 300 rows, a check
# fails, or the form of a text tells the right answer.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
talm=${1:-.venv/bin/talm-sim}
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT

"$talm" scenarios generate --out "$out/items" --model sim/writer --unable removed --variants all --seed 0
"$(dirname "$talm")/python" scripts/select_when2call.py "$out/items/items.jsonl" talm_sim/tasks/when2call/scenarios "${@:2}"
