#!/bin/sh
# A stranger's five minutes: tools and an agent that talm-sim has never seen, from nothing to a table and a transcript.
#
#   sh scripts/five_minutes.sh [PROGRAM [MCP_SERVER]]    default PROGRAM: .venv/bin/talm-sim
#
# Three Python tools, then a service with an OpenAPI document, then the tools of MCP_SERVER, a command, where one is named (scripts/mcp.sh installs
# one). The agent is the one in examples/own_tools/shop.py; sim/asker stands in for its model, so there is no key and no network.
set -eu

if [ "${1:-}" = -h ] || [ "${1:-}" = --help ]; then
    sed -n '2,/^set /{/^#/!d;s/^# \{0,1\}//;p;}' "$0"
    exit 0
fi

root=$(cd "$(dirname "$0")/.." && pwd)
program=${1:-$root/.venv/bin/talm-sim}
server=${2:-}
python=$(dirname "${program%% *}")/python
work=$(mktemp -d)
service=
trap 'test -z "$service" || kill "$service"; rm -rf "$work"' EXIT
cp "$root"/examples/own_tools/* "$work"
cd "$work"

talm_sim() {
    printf '\n$ talm-sim %s\n' "$*"
    $program "$@" # PROGRAM may be several words
}

# Five commands, for tools from $2; $1 names the files.
five_minutes() {
    talm_sim tools check --tools-from "$2" --writing
    talm_sim scenarios init --tools-from "$2" --writing --out "$1.jsonl"
    talm_sim scenarios check --tools-from "$2" --scenarios "$1.jsonl"
    talm_sim run --agent shop:agent --model sim/asker --tools-from "$2" --scenarios "$1.jsonl" --perturb http-500 --human simulated --run-id "$1"
    talm_sim show "$1:$(sed -n 's/^{"id": "\([^"]*[.]underspecified\)".*/\1/p' "$1.jsonl" | head -n 1)"
}

five_minutes shop shop:tools

"$python" pets.py >address &
service=$!
while [ ! -s address ]; do
    kill -0 "$service"
    sleep 0.1
done
five_minutes pets "pets=$(cat address)"

if [ -n "$server" ]; then
    five_minutes mcp "theirs=mcp:$server"
fi
