"""Files on the Hugging Face hub, named as `hub:OWNER/DATASET[:FILE]`."""

from __future__ import annotations

import re
from pathlib import Path

from talm_sim.errors import PrerequisiteError

__all__ = ["DEFAULT_FILE", "is_on_hub", "local_file"]

DEFAULT_FILE = "test/when2call_test_mcq.jsonl"
_NAME = re.compile(r"hub:(?P<dataset>[\w.-]+/[\w.-]+)(?::(?P<file>[^:]+))?")


def is_on_hub(file: Path) -> bool:
    """Tell whether a file given on the command line names one on the hub."""
    return str(file).startswith("hub:")


def local_file(file: Path) -> Path:
    """Find the file on this machine; one on the hub is downloaded into the hub's own cache, unless it lies there.

    Raises:
        PrerequisiteError: It is on the hub and cannot be had: no `huggingface_hub`, no network, no such dataset or file, no access.
    """
    if not is_on_hub(file):
        return file
    match = _NAME.fullmatch(str(file))
    if match is None:
        raise PrerequisiteError(f"{file}: is no file on the hub; write hub:OWNER/DATASET or hub:OWNER/DATASET:FILE.")
    try:
        import huggingface_hub as hub
        from huggingface_hub import errors
    except ImportError:
        raise PrerequisiteError(
            f"{file}: needs huggingface_hub: pip install huggingface_hub, or download the file and give its path."
        ) from None
    dataset, name = match["dataset"], match["file"] or DEFAULT_FILE
    try:
        return Path(hub.hf_hub_download(dataset, name, repo_type="dataset"))
    except errors.GatedRepoError:
        problem = "access must be granted on the hub first; ask for it there, then set HF_TOKEN"
    except errors.RepositoryNotFoundError:
        problem = "there is no such dataset, or it is private; check the name, or set HF_TOKEN"
    except errors.LocalEntryNotFoundError:
        problem = "cannot be downloaded (no network, or HF_HUB_OFFLINE is set) and does not lie in the hub's cache; give a local file"
    except errors.EntryNotFoundError:
        problem = f"the dataset has no file {name}; write hub:{dataset}:FILE"
    except (errors.HfHubHTTPError, OSError, ValueError) as err:
        problem = f"cannot be downloaded ({' '.join(str(err).split())[:200]}); try again, or give a local file"
    raise PrerequisiteError(f"{file}: {problem}.")
