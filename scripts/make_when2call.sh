#!/usr/bin/env bash
# Make the packaged scenarios of task when2call (talm_sim/tasks/when2call/scenarios/*.jsonl) from those of task talm, with the writer that needs
# no model. Equal scenarios give equal bytes. Review them: talm-sim scenarios review talm_sim/tasks/when2call/scenarios/<group>.jsonl
#
#   scripts/make_when2call.sh [TALM-SIM]      default: .venv/bin/talm-sim
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
talm=${1:-.venv/bin/talm-sim}
data=talm_sim/tasks/when2call/scenarios
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT

"$talm" scenarios generate --out "$out/items" --model sim/writer --variants one --seed 0
mkdir -p "$data"
for group in tool_call request_for_info cannot_answer; do
    grep -F "\"correct_answer\": \"$group\"" "$out/items/items.jsonl" >"$data/$group.jsonl"
    wc -l "$data/$group.jsonl"
done
