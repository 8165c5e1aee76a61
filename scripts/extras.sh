#!/bin/sh
# Make .venv-extras, or bring it up to date: the development environment with all beyond it that needs no model, which is the extras mcp, pandas and
# ray, a browser's driver, the generator of the site, and the frameworks of the agents in examples/. It is apart from .venv, where the default
# installation is tested.
#
#     sh scripts/extras.sh [VENV]           default VENV: .venv-extras
#
# PYTHON names the interpreter (default python3; 3.11 or newer).
set -eu
cd "$(dirname "$0")/.."
. scripts/environment.sh
environment "${1:-.venv-extras}" scripts/extras.sh --editable '.[mcp,pandas,ray]' --group dev --group agents --group browser --group docs
