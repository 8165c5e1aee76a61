#!/usr/bin/env bash
# Set up an environment that has tools of MCP servers (scripts/extras.sh), and in it another with a server that is not ours.
#
#   scripts/mcp.sh [VENV]                                      default VENV: .venv-extras
#   VENV/bin/python -m pytest tests/tools_env/sources tests/cli/test_try.py
#   VENV/bin/talm-sim try --tools-from theirs=mcp:VENV/server/bin/mcp-server-time --writing
#
# Nothing is installed outside VENV. The server has an environment of its own: it may need another release of the protocol's package than the
# client. PYTHON names the interpreter (default python3; 3.11 or newer).
set -euo pipefail

if [[ ${1:-} == -h || ${1:-} == --help ]]; then
    sed -n '2,/^set /{/^#/!d;s/^# \{0,1\}//;p}' "$0"
    exit 0
fi

cd "$(dirname "${BASH_SOURCE[0]}")/.."
venv=${1:-.venv-extras}
source scripts/environment.sh

sh scripts/extras.sh "$venv"
environment "$venv/server" scripts/mcp.sh mcp-server-time==2026.10.19
echo "ready: $venv/server/bin/mcp-server-time"
