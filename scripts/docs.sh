#!/bin/sh
# Build the documentation's site into build/docs, from scratch; every warning fails the build.
#
#     sh scripts/docs.sh
#
# Its environment is .venv-docs, with the package and the pinned generator. PYTHON names the interpreter (default python3; 3.11 or newer).
set -eu
cd "$(dirname "$0")/.."
. scripts/environment.sh
environment .venv-docs scripts/docs.sh --editable . sphinx==9.0.4 myst-parser==5.2.0 furo==2025.12.19
rm -rf build/docs
.venv-docs/bin/python -m sphinx --builder html --fresh-env --doctree-dir build/doctrees --fail-on-warning --keep-going --quiet docs build/docs
echo "the site is in build/docs: open build/docs/index.html"
