#!/bin/sh
# Make .venv and install the package with all that development needs, or bring both up to date.
#
#     sh scripts/setup.sh
#
# Needs Python 3.11 or later with its venv module; PYTHON names another one than python3.
set -eu
cd "$(dirname "$0")/.."
stamp=.venv/.talm-sim-dev
if [ -e "$stamp" ] && [ -z "$(find pyproject.toml -newer "$stamp")" ]; then
    exit 0
fi
[ -x .venv/bin/python ] || "${PYTHON:-python3}" -m venv .venv
# Dependency groups need pip 25.1.
.venv/bin/python -m pip install --quiet --disable-pip-version-check --upgrade 'pip>=25.1'
.venv/bin/python -m pip install --quiet --disable-pip-version-check --editable . --group dev
touch "$stamp"
