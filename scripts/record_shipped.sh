#!/usr/bin/env bash
# Make the recording that is shipped in cassettes/: SmolLM2-135M-Instruct (weights: Apache-2.0) acting in the packaged scenarios of sets quick and
# sample, once alone and once with a human who gives the scenario's own `missing` answer; the control models' tool traffic, so that they can be
# replayed beside it; and the same model in every packaged scenario of tasks awareness and refusal; how likely it finds the options of task
# when2call's items; and the same model writing such items.
#
#   scripts/record_shipped.sh [RECORDINGS]      default: recordings/
#
# Needs a development environment (scripts/setup.sh) and the server (scripts/local_vllm.sh, talm-sim models get,
# scripts/serve_smollm2.sh --max-model-len 8192 --dtype bfloat16). About three hours on two quiet cores. Running it again goes on where it stopped:
# what is recorded is played. Then scripts/update_documents.py prints again what README and docs/ show.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
recordings=${1:-recordings}
bin=.venv/bin
export VLLM_BASE_URL=${VLLM_BASE_URL:-http://127.0.0.1:8011/v1}

model=openai-api/vllm/smollm2-135m
# An episode that failed is asked again when the script runs again; the others go on.
run() { "$bin/talm-sim" run --split all --cassettes "$recordings" --run-dir "$recordings-runs" --display plain "$@" || [[ $? == 1 ]]; }

for set in quick sample; do
    for control in oracle eager cautious asker; do run --set "$set" --model "sim/$control" --human none --record; done
    run --set "$set" --model sim/asker --human simulated --record
    for human in none simulated; do run --set "$set" --model "$model" --human "$human" --record; done
done
for task in awareness refusal; do run --task "$task" --model "$model" --record; done
# One request at a time: in a batch the last digits of a prompt's numbers change from option to option, and the recording would pack larger.
TALM_SIM_MAX_CONNECTIONS=1 run --task when2call --model "$model" --record

"$bin/python" scripts/pack_recordings.py "$recordings" cassettes --command "scripts/record_shipped.sh" \
    --licence "Apache-2.0 (scenarios, model, its output); tool answers: see talm_sim/tasks/talm/scenarios/LICENCE.md" \
    --notes "Real traffic of SmolLM2-135M-Instruct behind vLLM, constrained tool format, bfloat16 weights, temperature 1.0, seed 0. Human answers are the scenarios' own."

# Apart, because its index names the command that plays it.
write="scenarios generate --out made --model $model --tool-use call --max-new-tokens 96 --limit 30 --variants one --record --cassettes recordings"
(
    mkdir -p "$recordings-items"
    root=$PWD
    cd "$recordings-items"
    # shellcheck disable=SC2086  # the words of the command
    "$root/$bin/talm-sim" $write
    "$root/$bin/python" "$root/scripts/pack_recordings.py" recordings "$root/cassettes" --command "talm-sim $write" \
        --licence "Apache-2.0 (scenarios, model, its output)" \
        --notes "Real traffic of SmolLM2-135M-Instruct behind vLLM, writing multiple-choice items: plain answers, temperature 0.6, top_p 0.95, seed 0."
)
