"""vLLM writes to a file, its workers too: by itself it writes to standard output, which is for data."""

from __future__ import annotations

import json
import logging
import os
from pathlib import Path

from talm_sim.common.processes import mark_of
from talm_sim.models.local.folders import models_folder

__all__ = ["log_to_file"]


def log_to_file() -> Path:
    """Have vLLM write to a file of this process, beside the folder of fetched models. Comes before vLLM's first import.

    Returns:
        The file; logs of processes that have ended are removed.
    """
    log = models_folder().parent / "vllm" / f"engine-{os.getpid()}.log"
    # What it says before it has read its configuration.
    logging.getLogger("vllm").addHandler(logging.NullHandler())
    if "VLLM_LOGGING_CONFIG_PATH" in os.environ:
        return log
    log.parent.mkdir(parents=True, exist_ok=True)
    config = {
        "version": 1,
        "disable_existing_loggers": False,
        "formatters": {"plain": {"format": "%(levelname)s %(asctime)s [%(name)s] %(message)s"}},
        "handlers": {"file": {"class": "logging.FileHandler", "filename": str(log), "formatter": "plain", "encoding": "utf-8"}},
        "loggers": {"vllm": {"handlers": ["file"], "level": "INFO", "propagate": False}},
    }
    _remove_logs_of_the_dead(log.parent)
    path = log.with_suffix(".json")
    path.write_text(json.dumps(config), encoding="utf-8")
    os.environ["VLLM_LOGGING_CONFIG_PATH"] = str(path)
    return log


def _remove_logs_of_the_dead(folder: Path) -> None:
    for path in folder.glob("engine-*"):
        pid = path.stem.removeprefix("engine-")
        if not (pid.isdecimal() and mark_of(int(pid))):
            path.unlink(missing_ok=True)
