"""Shells complete what is named: through Click in this process, and once through a real bash."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
from click.shell_completion import ShellComplete

from talm_sim.cli import main
from talm_sim.cli.parsing.completing import COMPLETED, completes
from talm_sim.cli.root import root
from tests.cli.parsing.shells import NAMES, program

VARIABLE = "_TALM_SIM_COMPLETE"


def offered(line: str) -> list[str]:
    """What is offered for the last word of a command line."""
    *words, incomplete = line.split(" ")[1:]
    return [str(item.value) for item in ShellComplete(root, {}, "talm-sim", VARIABLE).get_completions(words, incomplete)]


EXPECTED: list[tuple[str, list[str]]] = [
    ("talm-sim run --scena", ["--scenario", "--scenarios"]),
    ("talm-sim run --task ", ["talm", "when2call", "awareness", "refusal"]),
    ("talm-sim run --split un", ["underspecified", "unavailable"]),
    ("talm-sim run --split perfect,no", ["perfect,non-replaceable", "perfect,no-tools"]),
    ("talm-sim run --task when2call --split=re", ["request_for_info"]),
    ("talm-sim run --task refusal --subset irrelevance,live_p", ["irrelevance,live_parallel", "irrelevance,live_parallel_multiple"]),
    ("talm-sim run --task when2call --template qw", ["qwen2.5"]),
    ("talm-sim run --model sim/o", ["sim/oracle"]),
    ("talm-sim run --model openai-api/v", ["openai-api/vllm/smollm2-135m"]),
    ("talm-sim run --judge-model ant", ["anthropic/"]),
    ("talm-sim run --perturb http-5", ["http-500", "http-503"]),
    ("talm-sim run --perturb timeout:tool=find_h", ["timeout:tool=find_holiday"]),
    ("talm-sim run --judge behaviour-", ["behaviour-llm", "behaviour-llm-first-call"]),
    ("talm-sim run --human re", ["recorded", "refusing"]),
    ("talm-sim run --scenario calendar-02.perf", []),
    ("talm-sim run --scenario calendar-02.no", ["calendar-02.no-tools"]),
    ("talm-sim judge a-run --paired-run a", ["a-run"]),
    ("talm-sim report ", ["a-run", "latest"]),
    ("talm-sim compare a", ["a-run"]),
    ("talm-sim compare a-run a-run:pe", ["a-run:perfect"]),
    ("talm-sim compare latest:", ["latest:perfect", "latest:underspecified"]),
    ("talm-sim show a-run:perfect-", ["a-run:perfect-0", "a-run:perfect-1"]),
    ("talm-sim tasks show w", ["when2call"]),
    ("talm-sim tools list --category wea", ["weather"]),
    ("talm-sim tools check --tools-from op", ["openapi:"]),
    ("talm-sim run --tools-from b", ["built-in", "bfcl:"]),
    ("talm-sim run --tools-from zoo=openapi:pets.yaml,", [f"zoo=openapi:pets.yaml,{name}=" for name in ("server", "auth", "only")]),
    ("talm-sim run --tools-from pets.yaml,only=a,s", ["pets.yaml,only=a,server="]),
    ("talm-sim perturbations show ma", ["malformed-body", "mask"]),
    ("talm-sim scenarios generate --task ", ["when2call", "awareness", "refusal"]),
    ("talm-sim scenarios generate --task awareness --mani", ["--manipulation"]),
    ("talm-sim scenarios generate --mani", []),
    ("talm-sim scenarios translate a-run --to ", ["vi", "th"]),
    ("talm-sim completion ", ["bash", "zsh", "fish"]),
]


def test_names_are_completed(stored: Path) -> None:
    assert {line: offered(line) for line, _ in EXPECTED} == dict(EXPECTED)


def test_what_hinders_a_completion_is_not_told(stored: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert offered("talm-sim run --config nosuch.toml --split pe") == ["perfect"]
    assert offered("talm-sim show nosuch:e") == []
    assert offered("talm-sim run --task nosuch --epochs ") == []
    monkeypatch.setitem(COMPLETED, "task", lambda *_: 1 / 0)
    assert offered("talm-sim run --task t") == []
    monkeypatch.setitem(COMPLETED, "task", lambda *_: ["talm", "talm\x1b[2J", "ta\nlm", "tä", "t\u202ea", "t\u3000a"])
    assert offered("talm-sim run --task t") == ["talm", "tä"]
    assert completes("nosuch")(None, None, "") == []  # type: ignore[arg-type]


@pytest.mark.skipif(shutil.which("bash") is None, reason="needs bash")
def test_a_real_bash_completes_after_one_command(
    stored: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    home = tmp_path / "home"
    home.mkdir()
    (home / ".bashrc").write_text("# mine")
    environ = program(tmp_path / "bin") | {"HOME": str(home)}
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("SHELL", "/bin/bash")
    monkeypatch.delenv("XDG_DATA_HOME", raising=False)
    for _ in range(2):  # installed again, it stands there once
        capsys.readouterr()
        assert main(["completion", "--install"]) == 0
    script = home / ".local/share/talm-sim/completion.bash"
    assert capsys.readouterr().out == f"{script}\n"
    assert (home / ".bashrc").read_text() == f"# mine\n. {script}\n"
    line = "talm-sim run --split perfect,un"
    code = f"source ~/.bashrc; COMP_WORDS=({line}) COMP_CWORD=3; _talm_sim_completion talm-sim; complete -p talm-sim; echo ${{COMPREPLY[*]}}"
    found = subprocess.run(["bash", "--norc", "-c", code], env=environ, capture_output=True, text=True, check=True, cwd=stored.parent.parent)
    assert found.stdout == "complete -o nosort -F _talm_sim_completion talm-sim\nperfect,underspecified perfect,unavailable\n"
    assert found.stderr == ""


def test_a_run_whose_name_a_shell_or_the_program_would_take_otherwise_is_not_offered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("--plugin=evil", "-x", "a", *NAMES):
        (tmp_path / "runs" / name).mkdir(parents=True)
        (tmp_path / "runs" / name / "run.json").write_text("{}")
    assert offered("talm-sim report ") == ["a", "latest"]


def test_the_folders_of_adapters_are_offered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("out/sft", "sft"):
        (tmp_path / name).mkdir(parents=True)
        (tmp_path / name / "adapter_config.json").write_text("{}")
    for name in (".hidden", "out/checkpoints"):
        (tmp_path / name).mkdir()
    assert offered("talm-sim run -M ") == ["lora="]
    assert offered("talm-sim run -M lora=") == ["lora=out/", "lora=sft"]
    assert offered("talm-sim run -M lora=out/") == ["lora=out/checkpoints/", "lora=out/sft"]
    assert offered("talm-sim run -M lora=no/") == offered("talm-sim run -M device=") == []


def test_each_shell_has_a_script_and_another_is_named(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for shell in ("bash", "zsh", "fish"):
        assert main(["completion", shell]) == 0
        assert VARIABLE in capsys.readouterr().out
    monkeypatch.setenv("SHELL", "/bin/tcsh")
    assert main(["completion"]) == 2
    assert capsys.readouterr().err == "talm-sim: error: tcsh: name the shell: talm-sim completion bash|zsh|fish\n"
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    assert main(["completion", "fish", "--install"]) == 0
    assert (tmp_path / ".config/fish/completions/talm-sim.fish").is_file()
    (tmp_path / ".zshrc").mkdir()
    assert main(["completion", "zsh", "--install"]) == 2
    assert ".zshrc: cannot be written: Is a directory; save the output of `talm-sim completion zsh` elsewhere." in capsys.readouterr().err
