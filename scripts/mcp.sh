#!/usr/bin/env bash
# Set up an environment that has tools of MCP servers (scripts/extras.sh), and in it servers that are not ours.
#
#   scripts/mcp.sh [VENV]                                      default VENV: .venv-extras
#   VENV/bin/python -m pytest tests/tools_env/sources tests/cli/test_try.py
#   VENV/bin/talm-sim try --tools-from theirs=mcp:VENV/server/bin/mcp-server-time --writing
#
# Nothing is installed outside VENV. The servers have environments of their own, as some need an earlier release of the protocol's package; those
# of npm are left out where there is no npm. PYTHON names the interpreter (default python3; 3.11 or newer).
set -euo pipefail

if [[ ${1:-} == -h || ${1:-} == --help ]]; then
    sed -n '2,/^set /{/^#/!d;s/^# \{0,1\}//;p}' "$0"
    exit 0
fi

cd "$(dirname "${BASH_SOURCE[0]}")/.."
venv=${1:-.venv-extras}
source scripts/environment.sh

sh scripts/extras.sh "$venv"
server=$venv/server
environment "$server" scripts/mcp.sh mcp-server-time==2026.10.19 mcp-server-git==2026.10.19 mcp-server-fetch==2026.10.24
environment "$server/old" scripts/mcp.sh 'mcp<2' mcp-server-sqlite==2025.4.25 mcp-server-duckdb==1.1.0 mcp-server-calculator==0.2.1 \
    mcp-server-converter==0.2.0 mcp-server-diff-python==0.1.2
if command -v npm >/dev/null && [[ ! -e $server/node_modules/.bin/mcp-server-filesystem ]]; then
    npm install --silent --no-audit --no-fund --prefix "$server" @modelcontextprotocol/server-{everything,filesystem,memory,sequential-thinking}@2026.8.31 ||
        echo "no servers of npm could be had here: their tests are skipped"
fi
echo "ready: $server/bin/mcp-server-time"
