"""`talm-sim completion`."""

from __future__ import annotations

import os
from pathlib import Path

import click
from click.shell_completion import get_completion_class

from talm_sim.errors import PrerequisiteError, quote

_SHELLS = {"bash": ".bashrc", "zsh": ".zshrc", "fish": ""}
"""Shell to the file it reads when it starts; fish looks for a program's script by itself."""


@click.command()
@click.argument("shell", type=click.Choice(list(_SHELLS)), required=False)
@click.option("--install", is_flag=True, help="Install the script for every new shell.")
def command(shell: str | None, install: bool) -> None:
    """Set up shell completion: --install.

    Without --install, the completion script is printed. It completes options, tasks, splits, models, perturbations, judges, runs and
    episodes. Without SHELL, it is for your current shell ($SHELL).
    """
    used = shell or Path(os.environ.get("SHELL", "")).name
    if used not in _SHELLS:
        raise PrerequisiteError(f"{f'{used}: ' if used else ''}name the shell: talm-sim completion {'|'.join(_SHELLS)}")
    kind = get_completion_class(used)
    assert kind is not None
    text = kind(click.get_current_context().find_root().command, {}, "talm-sim", "_TALM_SIM_COMPLETE").source()
    if not install:
        click.echo(text, nl=False)
        return
    try:
        written = _install(used, text)
    except OSError as err:
        raise PrerequisiteError(
            f"{err.filename}: cannot be written: {err.strerror}; save the output of `talm-sim completion {used}` elsewhere."
        ) from None
    for path in written:
        click.echo(path)
    click.echo("installed; it takes effect in the next shell you open", err=True)


def _install(shell: str, text: str) -> list[Path]:
    """Write the script, and see that the shell reads it; returns the files that were written."""
    home = Path.home()
    if not _SHELLS[shell]:
        folder = Path(os.environ.get("XDG_CONFIG_HOME") or home / ".config") / "fish" / "completions"
        return [_write_script(folder / "talm-sim.fish", text)]
    folder = Path(os.environ.get("XDG_DATA_HOME") or home / ".local" / "share") / "talm-sim"
    made = _write_script(folder / f"completion.{shell}", text)
    start = (Path(os.environ.get("ZDOTDIR") or home) if shell == "zsh" else home) / _SHELLS[shell]
    line = f". {quote(str(made))}"
    before = start.read_text(encoding="utf-8") if start.exists() else ""
    if line in before.splitlines():
        return [made]
    with start.open("a", encoding="utf-8") as file:
        file.write(("" if not before or before.endswith("\n") else "\n") + f"{line}\n")
    return [made, start]


def _write_script(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path
