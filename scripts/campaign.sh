#!/bin/sh
# Set up .venv-campaign if need be and attack the program; arguments go to `python -m campaign`.
#
#     sh scripts/campaign.sh --list
#     sh scripts/campaign.sh --short
#     sh scripts/campaign.sh kills --seed 7 --count 20
set -eu
cd "$(dirname "$0")/.."
stamp=.venv-campaign/.complete
if [ ! -e "$stamp" ] || [ -n "$(find pyproject.toml -newer "$stamp")" ]; then
    [ -x .venv-campaign/bin/python ] || "${PYTHON:-python3}" -m venv .venv-campaign
    # Dependency groups need pip 25.1.
    .venv-campaign/bin/python -m pip install --quiet --disable-pip-version-check --upgrade 'pip>=25.1'
    .venv-campaign/bin/python -m pip install --quiet --disable-pip-version-check --editable . --group campaign
    touch "$stamp"
fi
exec .venv-campaign/bin/python -m campaign "$@"
