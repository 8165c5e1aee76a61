"""Read files on the Hugging Face hub, named as `hub:OWNER/DATASET[:FILE]`."""

from __future__ import annotations

import re
from pathlib import Path

from talm_sim.errors import PrerequisiteError

_NAME = re.compile(r"hub:(?P<dataset>[\w.-]+/[\w.-]+)(?::(?P<file>[^:]+))?")


def is_on_hub(file: Path) -> bool:
    """Return whether a file given on the command line is on the hub."""
    return str(file).startswith("hub:")


def local_file(file: Path, default: str = "") -> Path:
    """Find the file on this machine; one on the hub is downloaded into the hub's own cache, unless it lies there."""
    if not is_on_hub(file):
        return file
    if (match := _NAME.fullmatch(str(file))) is None:
        raise PrerequisiteError(f"{file}: is not a file on the hub; write hub:OWNER/DATASET or hub:OWNER/DATASET:FILE.")
    try:
        import huggingface_hub as hub
        from huggingface_hub import errors
    except ImportError:
        raise PrerequisiteError(
            f"{file}: needs huggingface_hub: pip install huggingface_hub, or download the file and give its path."
        ) from None
    dataset, name = match["dataset"], match["file"] or default
    if not name:
        raise PrerequisiteError(f"{file}: names no file of the dataset; write hub:{dataset}:FILE.")
    why = ""
    try:
        # Asked once before: the download itself would try a dead network for half a minute before it looks into the cache.
        hub.get_hf_file_metadata(hub.hf_hub_url(dataset, name, repo_type="dataset"), timeout=10)
    except errors.GatedRepoError:
        raise PrerequisiteError(f"{file}: access must be granted on the hub first; ask for it there, then set HF_TOKEN.") from None
    except errors.RepositoryNotFoundError:
        raise PrerequisiteError(f"{file}: there is no such dataset, or it is private; check the name, or set HF_TOKEN.") from None
    except errors.EntryNotFoundError:
        raise PrerequisiteError(f"{file}: the dataset has no file {name}; write hub:{dataset}:FILE.") from None
    except Exception as err:  # a network's errors are those of whichever client this version of the library uses
        why = _summarize_error(err)
    try:
        return Path(hub.hf_hub_download(dataset, name, repo_type="dataset", local_files_only=bool(why)))
    except Exception as err:
        problem = f"cannot be downloaded ({why or _summarize_error(err)}), and it is not in the hub's cache"
        raise PrerequisiteError(f"{file}: {problem}; try again with the network, or give a local file.") from None


def _summarize_error(err: Exception) -> str:
    return " ".join(f"{type(err).__name__}: {err}".split())[:200]
