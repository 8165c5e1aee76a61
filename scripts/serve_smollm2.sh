#!/usr/bin/env bash
# Serve SmolLM2-135M-Instruct (weights: Apache-2.0) on this machine with vLLM on CPU: the OpenAI protocol under
# http://127.0.0.1:PORT/v1 and the Anthropic protocol under http://127.0.0.1:PORT (/v1/messages). No key is asked for.
#
#   scripts/serve_smollm2.sh [OPTION...] [-- VLLM-OPTION...]
#
#   --port N             port on 127.0.0.1 (8011)
#   --venv DIR           environment made by scripts/local_vllm.sh (.venv-vllm)
#   --model DIR          directory made by `talm-sim models get` (.local/smollm2-135m)
#   --name NAME          the model's name in requests (smollm2-135m)
#   --max-num-seqs N     requests decoded together (16)
#   --max-model-len N    prompt and answer together, in tokens (4096)
#   --dtype TYPE         float32 or bfloat16 (float32)
#   --kv-gib N           memory for the key-value cache, in GiB (4: 93,000 tokens in float32)
#   --cpus LIST          cores to compute on, such as 0-1; auto: all but one (all, up to four cores; else auto)
#   --compile            compile the model's graph at start (slower to start)
#   --log FILE           server log (.local/serve_smollm2.log)
#   --pid-file FILE      gets the id of the process, and of its group, that is started in the background; none where it was served already
#   --wait SECONDS       give up when it is not healthy by then (300)
#   --foreground         stay in the foreground, log to the terminal
#
# Returns when the server is healthy, and leaves it running in the background; prints how to stop it.
# The environment and the model directory are not made here: run scripts/local_vllm.sh and `talm-sim models get` first.
set -euo pipefail

usage() { sed -n '2,/^set /{/^#/!d;s/^# \{0,1\}//;p}' "$0"; }
say() { printf 'serve_smollm2: %s\n' "$*"; }
die() { say "$*" >&2; exit 1; }

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(dirname "$here")
port=8011 venv=$root/.venv-vllm model=$root/.local/smollm2-135m name=smollm2-135m
seqs=16 length=4096 dtype=float32 kv_gib=4 cpus='' eager=yes log=$root/.local/serve_smollm2.log pid_file='' patience=300 foreground=no
while (($#)); do
    case $1 in
        --port | --venv | --model | --name | --max-num-seqs | --max-model-len | --dtype | --kv-gib | \
            --cpus | --log | --pid-file | --wait)
            (($# > 1)) || die "$1 needs a value" ;;&
        --port) port=$2; shift 2 ;;
        --venv) venv=$2; shift 2 ;;
        --model) model=$2; shift 2 ;;
        --name) name=$2; shift 2 ;;
        --max-num-seqs) seqs=$2; shift 2 ;;
        --max-model-len) length=$2; shift 2 ;;
        --dtype) dtype=$2; shift 2 ;;
        --kv-gib) kv_gib=$2; shift 2 ;;
        --cpus) cpus=$2; shift 2 ;;
        --compile) eager=no; shift ;;
        --log) log=$2; shift 2 ;;
        --pid-file) pid_file=$2; shift 2 ;;
        --wait) patience=$2; shift 2 ;;
        --foreground) foreground=yes; shift ;;
        -h | --help) usage; exit 0 ;;
        --) shift; break ;;
        *) usage >&2; exit 2 ;;
    esac
done

py=$venv/bin/python
[[ -x $py ]] || die "no environment in $venv; make it: scripts/local_vllm.sh $venv"
[[ -f $model/config.json ]] || die "no model in $model; make it: (cd $root && $py -m talm_sim models get smollm2-135m --to $model)"

# served: prints the model's name if something healthy answers on the port.
served() {
    "$py" - "$port" 2>/dev/null <<'PY'
import json
import sys
import urllib.request

base = f"http://127.0.0.1:{sys.argv[1]}"
opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
opener.open(f"{base}/health", timeout=5).read()
print(json.load(opener.open(f"{base}/v1/models", timeout=5))["data"][0]["id"])
PY
}

[[ -z $pid_file ]] || rm -f "$pid_file"
if found=$(served); then
    [[ $found == "$name" ]] || die "port $port already serves $found"
    say "$name is already served on port $port; leaving it alone (its options may be others)"
    exit 0
fi
if (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null; then
    die "port $port is taken by something that is no healthy model server"
fi

# Without a size for the cache, start-up fails on CPU. Nothing is fetched and nothing is reported.
export VLLM_CPU_KVCACHE_SPACE=$kv_gib HF_HUB_OFFLINE=1 VLLM_NO_USAGE_STATS=1 DO_NOT_TRACK=1

# By itself vLLM leaves a core to its scheduler, which on two cores is half of the machine.
if [[ -z $cpus ]]; then
    cpus=$("$py" -c 'import os; c = sorted(os.sched_getaffinity(0)); print(",".join(map(str, c)) if len(c) <= 4 else "auto")')
fi
export VLLM_CPU_OMP_THREADS_BIND=${VLLM_CPU_OMP_THREADS_BIND:-$cpus}
# Intel's OpenMP lets idle threads sleep after 5 ms where GNU's keep spinning on cores that others need.
if [[ -f $venv/lib/libiomp5.so ]]; then
    export LD_PRELOAD=$(cd "$venv/lib" && pwd)/libiomp5.so${LD_PRELOAD:+:$LD_PRELOAD}
fi

# A prompt prefilled in two pieces ends the engine when its request has a seed ("CPU Generator does not use offset",
# vLLM 0.32), so prompts are never cut, and a step must hold the longest.
batched=$((length > 4096 ? length : 4096))

# The `vllm` command looks its version up under another package's name and crashes, hence the module.
command=("$py" -m vllm.entrypoints.openai.api_server
    --host 127.0.0.1 --port "$port" --model "$model" --served-model-name "$name"
    --dtype "$dtype" --max-model-len "$length" --max-num-seqs "$seqs"
    --no-enable-chunked-prefill --max-num-batched-tokens "$batched"
    --block-size 32 --enable-prefix-caching --enable-prompt-tokens-details
    --chat-template "$root/talm_sim/models/local/hermes_tools.jinja"
    --enable-auto-tool-choice --tool-call-parser hermes --tool-strict-level parameter
    --structured-outputs-config '{"backend": "xgrammar", "disable_any_whitespace": true}')
[[ $eager == no ]] || command+=(--enforce-eager)
command+=("$@")

if [[ $foreground == yes ]]; then
    exec "${command[@]}"
fi
mkdir -p "$(dirname "$log")"
say "starting $name on 127.0.0.1:$port; log: $log"
setsid nohup "${command[@]}" >"$log" 2>&1 </dev/null &
pid=$!
[[ -z $pid_file ]] || printf '%s\n' "$pid" >"$pid_file"
start=$SECONDS
until found=$(served); do
    if ! kill -0 "$pid" 2>/dev/null; then
        tail -n 25 "$log" >&2
        die "the server ended while starting; see $log"
    fi
    if ((SECONDS - start > patience)); then
        kill -TERM -- "-$pid" 2>/dev/null || kill -TERM "$pid"
        die "not healthy after $patience s; stopped; see $log"
    fi
    sleep 1
done
say "healthy after $((SECONDS - start)) s"
say "OpenAI: http://127.0.0.1:$port/v1   Anthropic: http://127.0.0.1:$port   model: $name   any key will do"
say "stop it with: kill -- -$pid"
