#!/bin/sh
# Make .venv and install the package with all that development needs, or bring both up to date.
#
#     sh scripts/setup.sh
#
# Needs Python 3.11 or later with its venv module; PYTHON names another one than python3.
set -eu
cd "$(dirname "$0")/.."
. scripts/environment.sh
environment .venv scripts/setup.sh --editable . --group dev
