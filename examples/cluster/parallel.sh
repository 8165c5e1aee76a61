#!/bin/sh
# A run in shards on several machines with ssh, or on this one alone, by GNU parallel.
#
#     sh parallel.sh NAME SHARDS [OPTION...]      the options are those of `talm-sim run`
#
# For example: PARALLEL='--sshloginfile hosts --workdir .' sh parallel.sh first 16 --split all --model vllm/NAME
# `hosts` names a machine per line; they must share the working directory. After a failure, run the same command again.
set -eu
name=$1 shards=$2
shift 2

# shellcheck disable=SC2016 # expanded by the inner shell
seq "$shards" | parallel --quote sh -c '
    number=$1 name=$2 shards=$3
    shift 3
    if [ -d "runs/$name.shard-$number" ]; then # the shard was started before
        talm-sim resume "runs/$name.shard-$number" --quiet || [ $? -eq 1 ]
    else
        talm-sim run "$@" --shard "$number/$shards" --run-id "$name.shard-$number" --quiet || [ $? -eq 1 ] # 1: with failed episodes
    fi
' sh {} "$name" "$shards" "$@"

exec talm-sim runs merge "$name" "runs/$name".shard-*
