#!/bin/sh
# Build the documentation's site into build/docs, from scratch; every warning fails the build.
#
#     sh scripts/docs.sh [VENV]             default VENV: .venv-docs
#
# The environment has the package and the pinned generator. PYTHON names the interpreter (default python3; 3.11 or newer).
set -eu
cd "$(dirname "$0")/.."
. scripts/environment.sh
venv=${1:-.venv-docs}
environment "$venv" scripts/docs.sh --editable . --group docs
rm -rf build/docs
"$venv/bin/python" -m sphinx --builder html --fresh-env --doctree-dir build/doctrees --fail-on-warning --keep-going --quiet docs build/docs
echo "the site is in build/docs: open build/docs/index.html"
