#!/bin/sh
# Repeat the training experiment of docs/training.md: make an environment with the extra `train`, get the small model, train, score, compare.
#
#     sh scripts/training.sh [OPTION...]    options are those of `python -m benchmarks.training`, for example --quick
#
# Hours on two cores. Stopped or killed, the same command continues. It reads the published rows from $TALM_SIM_BENCH_DATA/when2call if that is
# set. PYTHON names the interpreter (default python3; 3.11 or newer); PIP_FIND_LINKS or PIP_INDEX_URL may name a CPU build of torch.
set -eu
cd "$(dirname "$0")/.."
. scripts/environment.sh
environment .venv-training scripts/training.sh --editable '.[train]'
.venv-training/bin/talm-sim models get smollm2-135m
exec .venv-training/bin/python -m benchmarks.training "$@"
