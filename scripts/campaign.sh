#!/bin/sh
# Set up .venv-extras if need be and attack the program; arguments go to `python -m campaign`.
#
#     sh scripts/campaign.sh --list
#     sh scripts/campaign.sh --short
#     sh scripts/campaign.sh kills --seed 7 --count 20
set -eu
cd "$(dirname "$0")/.."
sh scripts/extras.sh
exec .venv-extras/bin/python -m campaign "$@"
