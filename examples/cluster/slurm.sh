#!/bin/sh
# A run in shards on a Slurm cluster: a job array plays one shard per task, and a second job merges them.
#
#     sh slurm.sh NAME SHARDS [OPTION...]      submits both; the options are those of `talm-sim run`
#
# For example: sh slurm.sh first 16 --split all --model vllm/NAME
# The directory `runs` must be on storage that all nodes share. If a task fails, submit it again alone, then the merge:
#
#     sbatch --array=3 slurm.sh NAME SHARDS [OPTION...]
#     talm-sim runs merge NAME runs/NAME.shard-*
#
#SBATCH --cpus-per-task=1
#SBATCH --mem=2G
#SBATCH --requeue
set -eu
name=$1 shards=$2
shift 2

if [ -n "${MERGE_SHARDS:-}" ]; then # the second job
    exec talm-sim runs merge "$name" "runs/$name".shard-*
elif [ -z "${SLURM_ARRAY_TASK_ID:-}" ]; then # on the login node
    array=$(sbatch --parsable --array="1-$shards" "$0" "$name" "$shards" "$@")
    MERGE_SHARDS=1 exec sbatch --dependency="afterok:$array" "$0" "$name" "$shards"
fi

shard=$name.shard-$SLURM_ARRAY_TASK_ID
if [ -d "runs/$shard" ]; then # the task was started before
    talm-sim resume "runs/$shard" --quiet || [ $? -eq 1 ]
else
    talm-sim run "$@" --shard "$SLURM_ARRAY_TASK_ID/$shards" --run-id "$shard" --quiet || [ $? -eq 1 ] # 1: finished, with failed episodes
fi
