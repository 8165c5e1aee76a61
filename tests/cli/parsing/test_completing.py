"""Shells complete what is named: through Click in this process, and once through a real bash."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest
from click.shell_completion import ShellComplete
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from talm_sim.cli import main
from talm_sim.cli.parsing.completing import COMPLETED, VARIABLE, completes, script
from talm_sim.cli.parsing.shells import read_line
from talm_sim.cli.root import root
from tests.cli.parsing.shells import NAMES, at_a_terminal, needs, passed, program


def offered(line: str) -> list[str]:
    """What is offered for the last word of a command line."""
    *words, incomplete = line.split(" ")[1:]
    return [str(item.value) for item in ShellComplete(root, {}, "talm-sim", VARIABLE).get_completions(words, incomplete)]


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("talm-sim ru", ["run", "runs"]),
        ("talm-sim run --scena", ["--scenario", "--scenarios"]),
        ("talm-sim run --task ", ["talm", "when2call", "awareness", "refusal"]),
        ("talm-sim run --split un", ["underspecified", "unavailable"]),
        ("talm-sim run --split perfect,no", ["perfect,non-replaceable", "perfect,no-tools"]),
        ("talm-sim run --task when2call --split=re", ["request_for_info"]),
        ("talm-sim run --task refusal --subset irrelevance,live_p", ["irrelevance,live_parallel", "irrelevance,live_parallel_multiple"]),
        ("talm-sim run --task refusal --template py", ["pythonic"]),
        ("talm-sim run --task when2call --template qw", ["qwen2.5"]),
        ("talm-sim run --model sim/o", ["sim/oracle"]),
        ("talm-sim run --model openai-api/v", ["openai-api/vllm/smollm2-135m"]),
        ("talm-sim run --judge-model ant", ["anthropic/"]),
        ("talm-sim run --perturb http-5", ["http-500", "http-503"]),
        ("talm-sim run --perturb timeout:tool=find_h", ["timeout:tool=find_holiday"]),
        ("talm-sim run --judge behaviour-", ["behaviour-llm", "behaviour-llm-first-call"]),
        ("talm-sim run --human re", ["recorded", "refusing"]),
        ("talm-sim run --approve w", ["writing"]),
        ("talm-sim run --approve writing,find_h", ["writing,find_holiday"]),
        ("talm-sim run --category cal", ["calendar"]),
        ("talm-sim run --scenario calendar-02.perf", []),
        ("talm-sim run --scenario calendar-02.no", ["calendar-02.no-tools"]),
        ("talm-sim run --tools r", ["replay", "record"]),
        ("talm-sim run --paired-run a", ["a-run"]),
        ("talm-sim report ", ["a-run", "latest"]),
        ("talm-sim report a-run lat", ["latest"]),
        ("talm-sim compare a", ["a-run"]),
        ("talm-sim compare a-run a-run:pe", ["a-run:perfect"]),
        ("talm-sim compare latest:", ["latest:perfect", "latest:underspecified"]),
        ("talm-sim resume a", ["a-run"]),
        ("talm-sim judge a", ["a-run"]),
        ("talm-sim show a", ["a-run"]),
        ("talm-sim show a-run:perfect-", ["a-run:perfect-0", "a-run:perfect-1"]),
        ("talm-sim show latest:lacking-0", ["latest:lacking-0"]),
        ("talm-sim tasks show w", ["when2call"]),
        ("talm-sim tools show find_h", ["find_holiday"]),
        ("talm-sim tools list --category wea", ["weather"]),
        ("talm-sim tools check --tools-from op", ["openapi:"]),
        ("talm-sim scenarios init --tools-from shop=py", ["shop=python:"]),
        ("talm-sim run --tools-from b", ["built-in", "bfcl:"]),
        ("talm-sim run --tools-from zoo=openapi:pets.yaml,", [f"zoo=openapi:pets.yaml,{name}=" for name in ("server", "auth", "only")]),
        ("talm-sim run --tools-from pets.yaml,only=a,s", ["pets.yaml,only=a,server="]),
        ("talm-sim perturbations show ma", ["malformed-body", "mask"]),
        ("talm-sim scenarios show calendar-02.no", ["calendar-02.no-tools"]),
        ("talm-sim scenarios list --split perfect,under", ["perfect,underspecified"]),
        ("talm-sim scenarios generate --task ", ["when2call", "awareness", "refusal"]),
        ("talm-sim scenarios generate --task awareness --mani", ["--manipulation"]),
        ("talm-sim scenarios generate --mani", []),
        ("talm-sim scenarios translate a", ["a-run"]),
        ("talm-sim scenarios translate a-run --to ", ["vi", "th"]),
        ("talm-sim scenarios tr", ["translate"]),
        ("talm-sim completion ", ["bash", "zsh", "fish"]),
    ],
)
def test_names_are_completed(stored: Path, line: str, expected: list[str]) -> None:
    assert offered(line) == expected


def test_the_directory_of_runs_is_the_one_given(stored: Path, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    assert offered("talm-sim report --run-dir elsewhere a") == []
    assert offered(f"talm-sim report --run-dir {stored.parent} a") == ["a-run"]


def test_what_hinders_a_completion_is_not_told(stored: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert offered("talm-sim run --config nosuch.toml --split pe") == ["perfect"]
    assert offered("talm-sim show nosuch:e") == []
    assert offered("talm-sim run --task nosuch --epochs ") == []
    monkeypatch.setitem(COMPLETED, "task", lambda *_: 1 / 0)
    assert offered("talm-sim run --task t") == []
    monkeypatch.setitem(COMPLETED, "task", lambda *_: ["talm", "talm\x1b[2J", "ta\nlm", "tä", "t\u202ea", "t\u3000a"])
    assert offered("talm-sim run --task t") == ["talm", "tä", "t\u3000a"]
    assert completes("nosuch")(None, None, "") == []  # type: ignore[arg-type]


@pytest.mark.skipif(shutil.which("bash") is None, reason="needs bash")
def test_a_real_bash_completes_after_one_command(stored: Path, tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    (home / ".bashrc").write_text("# mine")
    environ = program(tmp_path / "bin") | {"HOME": str(home)}
    environ.pop("XDG_DATA_HOME", None)
    for _ in range(2):  # installed again, it stands there once
        done = subprocess.run(["talm-sim", "completion", "--install"], env=environ, capture_output=True, text=True, check=True)
    script = home / ".local/share/talm-sim/completion.bash"
    assert done.stdout == f"{script}\n"
    assert (home / ".bashrc").read_text() == f"# mine\n. {script}\n"
    words = {
        "talm-sim run --split perfect,un": "perfect,underspecified perfect,unavailable",
        "talm-sim run --split=underspec": "underspecified",
        "talm-sim show a-run:perfect-": "perfect-0 perfect-1",  # bash keeps what stands before the colon
        "talm-sim run --perturb timeout:tool=find_h": "find_holiday",
    }
    asks = "\n".join(
        f'COMP_LINE="{line}" COMP_POINT={len(line)}; _talm_sim_completion talm-sim "{re.split("[ =:]", line)[-1]}"; echo "${{COMPREPLY[*]}}"'
        for line in words
    )
    code = f"source ~/.bashrc; complete -p talm-sim\n{asks}"
    found = subprocess.run(["bash", "--norc", "-c", code], env=environ, capture_output=True, text=True, check=True, cwd=stored.parent.parent)
    assert found.stdout.splitlines() == ["complete -o nosort -F _talm_sim_completion talm-sim", *words.values()]
    assert found.stderr == ""


def test_a_run_that_is_called_as_an_option_is_not_offered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("--plugin=evil", "-x", "a"):
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


def typed_in_part(name: str, how: str) -> str | None:
    """The beginning of a name as somebody may have typed it before Tab; None where it cannot be typed so."""
    size = 2 if name.startswith("sm") else 1
    start, half = name[:size], name[: max(1, len(name) // 2)]
    escaped = shlex.quote(start) if not start.isalnum() else start
    spellings = {
        "plain": escaped,
        "in single quotes": None if "'" in start else f"'{start}",
        "in double quotes": None if set(start) & set('$`"\\!') else f'"{start}',
        "in dollar quotes": "$'" + half.replace("\\", "\\\\").replace("'", "\\'"),
        "with backslashes": re.sub(r"([^\w.-])", r"\\\1", half),
        "up to a backslash": re.sub(r"([^\w.-])", r"\\\1", half) + "\\" if half < name else None,
        "in parts": None if "'" in start else f"'{start}'" + re.sub(r"([^\w.-])", r"\\\1", half[size:]),
    }
    return spellings[how]


HOW = ("plain", "in single quotes", "in double quotes", "in dollar quotes", "with backslashes", "up to a backslash", "in parts")


@pytest.mark.parametrize(("shell", "each"), [("bash", 6), ("zsh", 11), ("fish", 11)])
def test_a_name_that_is_completed_reaches_the_program_and_nothing_acts(shell: str, each: int, tmp_path: Path) -> None:
    needs(shell)
    chosen = NAMES[::each]
    for number, name in enumerate(NAMES):
        (tmp_path / f"d{number}" / name).mkdir(parents=True)
        (tmp_path / f"d{number}" / name / "run.json").write_text("{}")
    with at_a_terminal(shell, tmp_path, {shell: script(shell, root)}) as terminal:
        for number, name in enumerate(chosen):
            begun = typed_in_part(name, HOW[number % len(HOW)] if shell == "bash" else "plain") or typed_in_part(name, "with backslashes")
            keys = f"talm-sim report --run-dir d{number * each} {begun}\t"
            assert terminal.types(keys) == ["report", "--run-dir", f"d{number * each}", name], (keys, terminal.shown[-400:])
    assert not list(tmp_path.rglob("PWNED"))


def test_what_somebody_typed_goes_on_to_the_name_in_each_way_to_type_it(tmp_path: Path) -> None:
    lines, names = [], []
    for name in NAMES:
        for how in HOW:
            if (begun := typed_in_part(name, how)) is not None:
                typed = read_line(f"talm-sim show {begun}")
                assert typed.literal and typed.words == ["talm-sim", "show"] and name.startswith(typed.word), begun
                rest = typed.complete_with(name[len(typed.word) :])
                assert rest is not None, begun
                lines.append(f"talm-sim show {begun}{rest}")
                names.append(name)
    assert len(lines) > 250
    assert passed("bash", lines, tmp_path) == [["show", name] for name in names]
    assert not list(tmp_path.rglob("PWNED"))


PIECES = st.sampled_from(["", "'", '"', "$'", '$"', "\\"])


@settings(max_examples=8, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(names=st.lists(st.tuples(st.text("'\"\\$`! ab;=:~{#ä", min_size=1, max_size=6), st.integers(0, 5), PIECES), min_size=60, max_size=60))
def test_a_line_is_read_as_bash_reads_it(names: list[tuple[str, int, str]], tmp_path: Path) -> None:
    lines, words = [], []
    for name, size, opening in names:
        typed = read_line(f"talm-sim show {shlex.quote(name[:size]) if size else ''}{opening}")
        assert typed.word == name[:size]
        rest = typed.complete_with(name[size:]) if typed.literal else None
        if rest is not None:
            lines.append(f"talm-sim show {shlex.quote(name[:size]) if size else ''}{opening}{rest}")
            words.append(["show", name])
    assert passed("bash", lines, tmp_path) == words


@pytest.mark.parametrize("typed", ["sm$(", "sm$HOME", "sm`", "sm*", "sm{", "~", '"sm$', '"sm!', "$'sm\\x41", ">sm", "a;b", '"sm\\'])
def test_where_bash_would_expand_what_is_typed_nothing_is_offered(typed: str) -> None:
    line = read_line(f"talm-sim report {typed}")
    assert not line.literal


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
