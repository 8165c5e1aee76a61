#!/usr/bin/env bash
# Create a virtual environment that has tools of MCP servers, and beside it one with a server that is not ours.
#
#   scripts/mcp.sh [VENV]                                      default VENV: .venv-mcp
#   VENV/bin/python -m pytest tests/tools_env/sources tests/test_five_minutes.py
#   scripts/five_minutes.sh VENV/bin/talm-sim VENV/server/bin/mcp-server-time
#
# Nothing is installed outside VENV. The server has an environment of its own: it may need another release of the protocol's package than the
# client. PYTHON names the interpreter (default python3; 3.11 or newer).
set -euo pipefail

if [[ ${1:-} == -h || ${1:-} == --help ]]; then
    sed -n '2,/^set /{/^#/!d;s/^# \{0,1\}//;p}' "$0"
    exit 0
fi

cd "$(dirname "${BASH_SOURCE[0]}")/.."
venv=${1:-.venv-mcp}

[[ -x $venv/bin/python ]] || "${PYTHON:-python3}" -m venv "$venv"
[[ -x $venv/server/bin/python ]] || "${PYTHON:-python3}" -m venv "$venv/server"
if [[ ! -e $venv/.complete || pyproject.toml -nt $venv/.complete || ${BASH_SOURCE[0]} -nt $venv/.complete ]]; then
    "$venv/bin/python" -m pip install --quiet --disable-pip-version-check --upgrade 'pip>=25.1'
    "$venv/bin/python" -m pip install --quiet --disable-pip-version-check --editable '.[mcp]' --group dev
    "$venv/server/bin/python" -m pip install --quiet --disable-pip-version-check 'mcp-server-time==2026.10.19'
    touch "$venv/.complete"
fi
echo "ready: $venv/server/bin/mcp-server-time"
