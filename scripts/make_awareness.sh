#!/usr/bin/env bash
# Make the packaged scenarios of task awareness (talm_sim/tasks/awareness/scenarios/*.jsonl) from those of task talm, by rules and the default
# embeddings (extra `retrieval`). Equal scenarios give equal bytes. Review them: talm-sim scenarios review talm_sim/tasks/awareness/scenarios/removed.jsonl
#
#   scripts/make_awareness.sh [TALM-SIM]      default: .venv/bin/talm-sim
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
talm=${1:-.venv/bin/talm-sim}
data=talm_sim/tasks/awareness/scenarios
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT

"$talm" scenarios generate --task awareness --out "$out/items" --seed 0
mkdir -p "$data"
for group in complete replaced removed; do
    grep -F "\"group\": \"$group\"" "$out/items/items.jsonl" >"$data/$group.jsonl"
    wc -l "$data/$group.jsonl"
done
