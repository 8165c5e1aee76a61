"""`talm-sim train`: every fault is one line with exit code 2 before anything is written; a small training, whole and in parts."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from talm_sim.models.local.engine import silence_transformers
from talm_sim.training import Forecast, Job, Step
from tests.cli.wrong import Talm, check
from tests.models.local.tiny import make_tiny
from tests.training.tiny_training import completions, pairs, write_rows

pytestmark = pytest.mark.usefixtures("nothing_given")
local = [pytest.mark.local, pytest.mark.timeout(300), pytest.mark.filterwarnings("default")]


def train(*more: str, method: str = "sft", model: str = "hf/tiny") -> tuple[str, ...]:
    return ("train", method, "rows.jsonl", "--model", model, "--out", "out", "--threads", "1", *more)


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (train("--epochs", "0"), r"--epochs: 0 is too small; the least is 1\.$"),
        (train("--recipe", "when2call-rpo"), r"recipe when2call-rpo: is for rpo, not for sft; name another with --recipe\.$"),
        (train(method="rpo"), r"rows\.jsonl:1: row 'r0' has no text 'chosen'"),
        (train(model="openai/gpt-4o"), r"--model openai/gpt-4o: only models of this process can be trained; write hf/DIR\.$"),
        (train("--chat-template", "empty.jinja"), r"error: --chat-template: 'empty\.jinja' is empty; name a Jinja file\.$"),
        (train("--from", "none"), r"error: --from none: there is no such directory"),
        (
            train("--out", "empty.jinja/out"),
            r"error: --out empty\.jinja/out: cannot be written \(/.*empty\.jinja is not a folder\); name another",
        ),
        (("train", "sft", "nosuch.jsonl", "--model", "hf/tiny", "--out", "out"), r"'nosuch\.jsonl' does not exist"),
        (("train", "ppo", "rows.jsonl", "--model", "hf/tiny", "--out", "out"), r"'ppo' is not one of"),
    ],
)
def test_what_is_wrong_without_a_model(talm: Talm, arguments: tuple[str, ...], told: str) -> None:
    write_rows(Path("rows.jsonl"), completions(2))
    Path("empty.jinja").touch()
    check(talm(*arguments), told)
    assert not Path("out").exists()


def test_without_the_extra_a_line_says_what_to_install(talm: Talm, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "trl", None)
    write_rows(Path("rows.jsonl"), completions(2))
    check(talm(*train()), r"talm-sim train: needs TRL and PEFT \(.*\); install them with: pip install '.*\[train\]")


def trained_in(steps: Sequence[float | None], monkeypatch: pytest.MonkeyPatch) -> None:
    """Make every training one that reports these losses, and is interrupted if the last one is not the second."""

    def run(job: Job, report: Callable[[Step], None]) -> bool:
        for number, loss in enumerate(steps):
            report(Step(number, 2, loss))
        if len(steps) < 3:
            raise KeyboardInterrupt
        return True

    monkeypatch.setattr("talm_sim.training.train", run)


@pytest.mark.parametrize(
    ("kept", "said"),
    [
        (False, "interrupted; no checkpoint was written yet; the same command begins again"),
        (True, "interrupted; checkpoints are kept in out; run the same command to continue"),
    ],
)
def test_ctrl_c_says_what_is_kept(talm: Talm, monkeypatch: pytest.MonkeyPatch, kept: bool, said: str) -> None:
    write_rows(Path("rows.jsonl"), completions(2))
    folder = Path("out/checkpoints/checkpoint-1")
    folder.mkdir(parents=True)
    if kept:
        (folder / "whole").touch()
    trained_in([None, 0.5], monkeypatch)
    code, out, err = talm(*train())
    assert (code, out) == (130, "") and said in err.splitlines()


@pytest.mark.parametrize(
    ("card", "task"),
    [
        ('{"task": "when2call"}', "when2call"),
        ("", "TASK"),
        ("{", "TASK"),
        ("[]", "TASK"),
        ('{"task": ["refusal"]}', "TASK"),
        ('{"task": "; reboot"}', "TASK"),
    ],
)
def test_the_next_command_names_the_task_of_the_rows(talm: Talm, monkeypatch: pytest.MonkeyPatch, card: str, task: str) -> None:
    write_rows(Path("rows.jsonl"), completions(2))
    if card:
        Path("rows.card.json").write_text(card, encoding="utf-8")
    trained_in([None, 0.5, 0.25], monkeypatch)
    code, out, err = talm(*train())
    assert (code, out) == (0, "out\n")
    assert err.splitlines()[-1] == f"use it: talm-sim run --live --task {task} --model hf/tiny -M lora=out"


@pytest.mark.parametrize(("tokens", "said"), [(900, "about 9 seconds at 100 tokens"), (900_000, "about 2.5 hours at 100 tokens")])
def test_a_forecast_is_in_a_unit_that_fits(talm: Talm, monkeypatch: pytest.MonkeyPatch, tokens: int, said: str) -> None:
    write_rows(Path("rows.jsonl"), completions(2))
    found = Forecast(rows=2, tokens=tokens, longest=9, steps=2, together=1, tokens_per_s=100, memory=10**9, disk=10**6)
    monkeypatch.setattr("talm_sim.training.forecast", lambda job: found)
    code, out, _ = talm(*train("--dry-run"))
    assert code == 0 and out.splitlines()[1].startswith(said)


@pytest.fixture
def tiny() -> Callable[..., Path]:
    """The maker of a tiny model in the folder of the test."""
    pytest.importorskip("trl", reason="trl is not installed (the extra train)")
    import transformers

    silence_transformers(transformers)
    return make_tiny


class TestWithAModel:
    pytestmark = local

    def test_what_is_wrong_with_the_rows(self, talm: Talm, tiny: Callable[..., Path]) -> None:
        tiny(Path("tiny"), chat_template="{% for one in messages %}{{ one.content }}</s>{% endfor %}")
        write_rows(Path("rows.jsonl"), completions(2))
        check(talm(*train("--max-length", "8")), r"rows\.jsonl:1: row 'r0' has \d+ tokens and would be cut \(and so would 1 more; ")
        Path("out").mkdir()
        Path("out/mine").touch()
        check(talm(*train("--max-length", "64")), r"--out out: exists and has no training; name another folder\.$")
        Path("out/mine").unlink()
        Path("out").rmdir()
        check(talm(*train("--max-length", "9999")), r"--max-length 9999: hf/tiny has a context of 512 tokens; write at most that\.$")
        asked = [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}]
        write_rows(Path("rows.jsonl"), [{"id": "mine", "messages": asked, "tools": [{"type": "function", "function": {"name": "look_up"}}]}])
        check(talm(*train("--max-length", "64")), r"row 'mine' has tools, but the chat template of hf/tiny shows none; give one that does")
        Path("shows.jinja").write_text("{{ tools | tojson }}{% for one in messages %}{{ one.content }}</s>{% endfor %}")
        check(talm(*train("--max-length", "8", "--chat-template", "shows.jinja")), r"row 'mine' has \d+ tokens and would be cut")
        assert not Path("out").exists()

    def test_no_room_on_the_disk(self, talm: Talm, tiny: Callable[..., Path], monkeypatch: pytest.MonkeyPatch) -> None:
        import shutil

        tiny(Path("tiny"))
        write_rows(Path("rows.jsonl"), completions(2))
        usage = shutil.disk_usage(".")
        monkeypatch.setattr(shutil, "disk_usage", lambda _: usage._replace(free=1_000_000))
        check(talm(*train("--max-length", "64")), r"--out out: needs \d MB on the disk, which has 1 MB free; free some, or name another\.$")
        assert not Path("out").exists()
        from talm_sim.training import training_session as session

        monkeypatch.setattr(session, "_disk_needs", lambda *_: 0)

        def write(self: object, file: object) -> None:  # as torch fails when a disk is full
            raise RuntimeError("[enforce fail at inline_container.cc:672] . unexpected pos 126400 vs 126288")

        import torch

        monkeypatch.setattr(torch.serialization._open_zipfile_writer_file, "__exit__", write)
        code, out, err = talm(*train("--max-length", "64", "--batch", "1", "--checkpoint", "0"))
        assert (code, out) == (2, "") and err.splitlines()[-1].endswith(
            "the disk is full; free some of it, then run the same command to continue."
        )
        assert sorted(one.name for one in Path("out").rglob("*")) == ["checkpoints", "training.json"]

    def test_a_training_its_forecast_and_its_second_stage(self, talm: Talm, tiny: Callable[..., Path]) -> None:
        tiny(Path("tiny"))
        write_rows(Path("rows.jsonl"), completions())
        options = ("--max-length", "64", "--batch", "4", "--learning-rate", "0.01")
        code, out, err = talm(*train(*options, "--dry-run"))
        assert code == 0 and err.endswith("nothing was trained\n") and not Path("out").exists()
        tokens = sum(len(f"{one['prompt']}{one['completion']}") for one in completions())  # nearly bytes: the tokenizer joins `the`
        found = re.match(r"12 rows, 2 epochs, 6 steps; (\d+) tokens, at most (\d+) in a text\nabout \d seconds? at ", out)
        assert found and abs(int(found[1]) - 2 * tokens) < 0.15 * 2 * tokens and "memory " in out and "disk " in out

        code, out, err = talm(*train(*options))
        assert (code, out) == (0, "out\n")
        lines = err.splitlines()
        assert lines[0].startswith("recipe study: the paper does not state these") and lines[1] == "6 steps, 0 finished before"
        assert re.fullmatch(r"\[6/6\] loss \d\.\d+", lines[2]) and lines[3].startswith("use it: talm-sim run --live --task TASK --model")
        assert len(lines) == 4, "a library printed something"
        card = json.loads(Path("out/training.json").read_text())
        assert card["finished"] and card["batch"] == 4 and card["base"] == "hf/tiny" and card["base_digest"] == card["model_digest"]
        assert talm(*train(*options))[2].startswith("was finished before; use it: ")
        check(
            talm(*train(*options, "--seed", "1")),
            r"--out out: has a training with other settings \(--seed 0, now 1\); repeat them, or name ano",
        )
        assert not any(json.loads(line)["loss"] > 9 for line in Path("out/losses.jsonl").read_text().splitlines())

        write_rows(Path("pairs.jsonl"), pairs())
        second = ("train", "rpo", "pairs.jsonl", "--model", "hf/tiny", "--from", "out", "--out", "second", "--threads", "1", "--json", *options)
        code, out, err = talm(*second)
        assert code == 0 and json.loads(out) == {"adapter": "second", "base": "hf/second/base", "trained": True}
        card = json.loads(Path("second/training.json").read_text())
        assert card["base"] == "base" and card["base_digest"] != card["model_digest"] != ""
        losses = [json.loads(line)["loss"] for line in Path("second/losses.jsonl").read_text().splitlines()]
        assert losses[0] == pytest.approx(0.11094, abs=1e-4), "the reference is not the model as this stage began"
