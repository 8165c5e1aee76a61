"""`talm-sim scenarios generate` at the terminal: what it needs is put together here, and what it made is printed here."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from talm_sim.cli.arguments import command_line, print_list
from talm_sim.cli.console import stderr
from talm_sim.cli.text import count, one_line
from talm_sim.config import WEAK_MODELS, RunConfig, Traffic, parse_limit
from talm_sim.errors import CassetteMissError, PrerequisiteError
from talm_sim.models.registry import in_process, open_model
from talm_sim.recordings import CassetteLibrary, RecordingTransport, current_player
from talm_sim.scenarios.generate import (
    RULES,
    Dropped,
    ModelWriter,
    RuleWriter,
    Settings,
    SourceQuestion,
    Writer,
    generate,
    load_writer_prompts,
    source_questions,
)
from talm_sim.scenarios.generate.pipeline import Outcome
from talm_sim.scenarios.hub import local_file
from talm_sim.scenarios.jsonl import json_lines
from talm_sim.scenarios.load import load_scenarios
from talm_sim.scenarios.when2call import TASK, LineKind, kind_of
from talm_sim.types import Behaviour, Scenario

__all__ = ["GROUP", "Order", "generate_session", "print_report"]

GROUP = "generate"
"""Group under which conversations of a writing model are recorded."""
_NEW_RECORDINGS = Path("recordings")


@dataclass(frozen=True, slots=True)
class Order:
    """What the command line asked for; see the help of its options."""

    out: Path
    file: Path | None
    limit: str | None
    model: str
    model_options: dict[str, str]
    tool_use: str
    tool_format: str
    prompts: Path | None
    seed: int
    temperature: float
    top_p: float
    max_new_tokens: int
    attempts: int
    variants: str
    at_once: int
    traffic: Traffic | None
    cassettes: Path | None

    @property
    def constrained(self) -> bool:
        """Whether labels are decoded under a grammar."""
        if self.tool_format == "auto":
            return self.model.rsplit("/", 1)[-1] in WEAK_MODELS
        return self.tool_format == "constrained"

    @property
    def settings(self) -> Settings:
        """What decides the texts."""
        rules = self.model == RULES
        return Settings(
            model=self.model,
            model_options=self.model_options,
            tool_use="call" if rules else self.tool_use,
            labels="constrained" if self.constrained else "plain",
            prompts="" if rules else load_writer_prompts(self.prompts).digest,
            seed=self.seed,
            temperature=self.temperature,
            top_p=self.top_p,
            max_new_tokens=self.max_new_tokens,
            attempts=self.attempts,
            variants=self.variants,
        )


def generate_session(order: Order) -> dict[str, Any]:
    """Generate items and return the report.

    Raises:
        PrerequisiteError: Something is missing or wrong; the message says what to mend.
    """
    if order.model != RULES and order.model.startswith("sim/"):
        raise PrerequisiteError(f"--model {order.model}: is a control that plays scenarios; the writer without a model is {RULES}.")
    if order.model == RULES and order.prompts is not None:
        raise PrerequisiteError(f"--prompts {order.prompts}: {RULES} has no wordings to replace; leave it out, or choose another --model.")
    RunConfig.load(model=order.model, model_options=order.model_options, environ={})  # one rule for names and for secrets among options
    scenarios = _scenarios(order.file)
    sources, dropped = source_questions(scenarios, CassetteLibrary().tool_specs())
    try:
        start, stop = parse_limit(order.limit)
    except ValueError as err:
        raise PrerequisiteError(f"--limit: {err}") from None
    chosen = sources[start:stop]
    if not chosen:
        why = f" (the first of {len(dropped)} dropped: {dropped[0].id}, {dropped[0].reason})" if dropped else ""
        raise PrerequisiteError(f"{order.file or 'the packaged scenarios'}: no source question within --limit {order.limit}{why}.")
    library = CassetteLibrary(order.cassettes or (_NEW_RECORDINGS if order.traffic is Traffic.RECORD else None))
    try:
        return asyncio.run(_generate(order, sources, chosen, dropped, library))
    except KeyboardInterrupt:
        click.echo(f"interrupted; what was finished is kept in {order.out}, and the same command goes on", err=True)
        raise


def print_report(report: Mapping[str, Any], out: Path) -> None:
    """Print what was made and what was rejected, and why."""
    rows = [
        {"item": name, "made": str(item["made"]), "rejected": str(item["rejected"]), "not_tried": str(sum(item["not_tried"].values()))}
        for name, item in report["items"].items()
    ]
    print_list(rows, {"item": "Right answer", "made": "Items made", "rejected": "Given up", "not_tried": "Not tried"}, empty="no item")
    why = [
        {"count": str(one["count"]), "item": one["item"], "text_of": one["text_of"], "check": one["check"]}
        for one in report["rejected_texts"]["why"]
    ]
    if why:
        click.echo()
        heads = {"count": "Texts", "item": "Item", "text_of": "Text", "check": "Failed check"}
        print_list(why, heads, empty="")
    sources, shown = report["sources"], report["rows"]
    lost = f", {count(len(sources['not_derived']), 'scenario')} could not be taken apart" if sources["not_derived"] else ""
    click.echo(f"{sources['finished']} of {count(sources['asked'], 'source question')}{lost}", err=True)
    rejected = count(report["rejected_texts"]["total"], "text")
    click.echo(f"{count(shown['total'], 'row')}: {_parts(shown['tools_shown'], 'tools')}; {rejected} rejected", err=True)
    for reason, number in sources["dropped"].items():
        click.echo(f"dropped {number}: {one_line(reason)}", err=True)
    click.echo(f"written to {out}; read through them: talm-sim scenarios review {out}", err=True)


def _parts(counts: Mapping[str, int], noun: str) -> str:
    return ", ".join(f"{number:,} with {name} {noun.removesuffix('s') if name == '1' else noun}" for name, number in counts.items()) or "none"


def _scenarios(file: Path | None) -> list[Scenario]:
    if file is None:
        return load_scenarios(("perfect", "underspecified"))
    first = next(json_lines(local_file(file)), None)
    line = first[1] if first else None
    if kind_of(line) is LineKind.ROW or (isinstance(line, dict) and line.get("task") == TASK):
        return load_scenarios((Behaviour.TOOL_CALL.value,), file, task=TASK)
    return load_scenarios(("perfect", "underspecified"), file)


async def _generate(
    order: Order, sources: list[SourceQuestion], chosen: list[SourceQuestion], dropped: list[Dropped], library: CassetteLibrary
) -> dict[str, Any]:
    traffic = _traffic(order, library)
    console = stderr()
    settings = order.settings
    writer = _writer(order, sources, traffic)
    if traffic in (Traffic.LIVE, Traffic.RECORD):
        recorded = f", recorded below {library.root}" if traffic is Traffic.RECORD else ""
        console.print(f"live: {one_line(order.model.split('/', 1)[0])} (model {one_line(order.model)}{recorded})", style="bold yellow")
    try:
        with _progress(console) as on_progress:
            return await generate(
                chosen,
                dropped,
                writer,
                settings,
                order.out,
                command=command_line(),
                at_once=order.at_once,
                open_tape=_tapes(order, library, settings, traffic),
                on_progress=on_progress,
            )
    finally:
        await writer.aclose()


def _traffic(order: Order, library: CassetteLibrary) -> Traffic | None:
    """Where the model's answers come from; None where there is no model."""
    if order.model == RULES:
        return None
    if in_process(order.model):
        if order.traffic in (Traffic.REPLAY, Traffic.RECORD):
            raise PrerequisiteError(f"--{order.traffic.value}: {order.model} runs in this process and has no traffic to record; leave it out.")
        return Traffic.LIVE
    if order.traffic is not None:
        return order.traffic
    return Traffic.REPLAY if library.has_model(order.model, (GROUP,)) else Traffic.LIVE


def _writer(order: Order, sources: list[SourceQuestion], traffic: Traffic | None) -> Writer:
    if order.model == RULES:
        return RuleWriter(sources, order.seed)
    prompts = load_writer_prompts(order.prompts)

    def opened(*, constrained: bool) -> Any:
        try:
            return open_model(
                order.model,
                transport_factory=RecordingTransport if traffic in (Traffic.REPLAY, Traffic.RECORD) else None,
                max_connections=order.at_once,
                options=order.model_options,
                constrained=constrained,
                replay=traffic is Traffic.REPLAY,
            )
        except PrerequisiteError as err:
            raise PrerequisiteError(f"--model: {err}") from None

    model = opened(constrained=False)
    # Opening a model in process twice would load it twice; such a model keeps to the labels by itself where it can.
    labeller = opened(constrained=True) if order.constrained and traffic is not None and not in_process(order.model) else model
    kept = {"temperature": order.temperature, "top_p": order.top_p, "max_new_tokens": order.max_new_tokens, "seed": order.seed}
    return ModelWriter(model, labeller, prompts, asks_tool_use=order.tool_use == "model", **kept)  # type: ignore[arg-type]


def _tapes(
    order: Order, library: CassetteLibrary, settings: Settings, traffic: Traffic | None
) -> Callable[[str], AbstractContextManager[object]]:
    """Puts the recording of one source question's conversations in place."""
    if traffic not in (Traffic.REPLAY, Traffic.RECORD):
        return lambda source: nullcontext()

    @contextmanager
    def open_tape(source: str) -> Iterator[None]:
        player = library.open_model(order.model, source, GROUP, 1, 0, settings.digest, traffic)
        token = current_player.set(player)
        try:
            yield
        finally:
            current_player.reset(token)
            player.save()
        if player.misses:
            raise CassetteMissError(player.misses[0])

    return open_tape


@contextmanager
def _progress(console: Console) -> Iterator[Callable[[int, int, Outcome | None], None]]:
    """A bar with the time left on a terminal, else a line for every source question."""
    if console.is_terminal:
        columns = (TextColumn("source questions"), BarColumn(bar_width=None), MofNCompleteColumn(), TimeElapsedColumn(), TextColumn("left"))
        with Progress(*columns, TimeRemainingColumn(), console=console, transient=True) as bars:
            task = bars.add_task("", total=None)
            yield lambda done, total, outcome: bars.update(task, completed=done, total=total)
        return
    began, before = time.monotonic(), 0

    def line(done: int, total: int, outcome: Outcome | None) -> None:
        nonlocal before
        if outcome is None:
            before = done
            console.print(f"{count(total, 'source question')}, {done} finished before", soft_wrap=True)
            return
        left = (time.monotonic() - began) / max(1, done - before) * (total - done)
        made = f"{count(len({row['correct_answer'] for row in outcome.rows}), 'item')}, {len(outcome.given_up)} given up"
        text = f"[{done:>{len(str(total))}}/{total}] {one_line(outcome.source)}: {outcome.dropped or made}; about {left:.0f} s left"
        console.print(one_line(text, 300), soft_wrap=True)

    yield line
