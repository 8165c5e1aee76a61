#!/bin/sh
# Build the documentation's site into build/docs; every warning fails the build.
#
#     sh scripts/docs.sh
#     sh scripts/docs.sh -E                 from scratch; options go to Sphinx
#
# Its environment is .venv-docs, with the package and the pinned generator. PYTHON names the interpreter (default python3; 3.11 or newer).
set -eu
cd "$(dirname "$0")/.."
. scripts/environment.sh
environment .venv-docs scripts/docs.sh --editable . sphinx==9.0.4 myst-parser==5.2.0 furo==2025.12.19
exec .venv-docs/bin/python -m sphinx --builder html --doctree-dir build/doctrees --fail-on-warning --keep-going --quiet "$@" docs build/docs
