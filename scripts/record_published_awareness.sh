#!/usr/bin/env bash
# Ask SmolLM2-135M-Instruct the awareness questions about 200 published queries of each group of Fail-TaLMs, drawn by seed 0, and print the table with
# the paper's rows beside it. The queries and tools are not ours to publish: what goes to tests/tasks/talm holds digests of the requests, the model's
# own answers and no published text.
#
#   scripts/record_published_awareness.sh DATA [RECORDINGS]      DATA: a copy of the release; RECORDINGS, default: recordings-published/
#
# Needs a development environment (scripts/setup.sh) and the server (scripts/local_vllm.sh, talm-sim models get, scripts/serve_smollm2.sh). Six
# minutes on two quiet cores. Running it again goes on where it stopped: what is recorded is played.
set -euo pipefail
data=$(realpath "${1:?name the folder that holds the release of Fail-TaLMs}")
cd "$(dirname "${BASH_SOURCE[0]}")/.."
recordings=${2:-recordings-published}
bin=.venv/bin
export VLLM_BASE_URL=${VLLM_BASE_URL:-http://127.0.0.1:8011/v1}

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"$bin/talm-sim" import fail-talms "$data" --scenarios-to "$work/queries.jsonl" --run-dir "$work/imported"
"$bin/python" scripts/published_awareness.py draw "$work/queries.jsonl" "$work/sample.jsonl"
"$bin/talm-sim" run --scenarios "$work/sample.jsonl" --tools-from "fail-talms:$data/tools" --stop-after awareness \
    --model openai-api/vllm/smollm2-135m --record --cassettes "$recordings" --run-dir "$recordings-runs" \
    --display plain --against paper
"$bin/python" scripts/published_awareness.py keep "$recordings" tests/tasks/talm/published_awareness.jsonl
