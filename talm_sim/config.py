"""`RunConfig`: the options all tasks share. Command-line options, environment names and TOML keys derive from its fields.

Each field, here and in a task's own options (`talm_sim.tasks`), carries a *scope*:

- `generation`: changes what the agent does; two runs that differ here are different experiments.
- `scoring`: changes what the answers are worth; a stored run can be judged again under another value.
- `operational`: changes neither; `resume` may override it.

Secrets never enter a `RunConfig`: providers read them from the environment. It reads no disk: a path is a path until a run is built.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, BeforeValidator, Field, model_validator
from pydantic.fields import FieldInfo

from talm_sim.common.budgets import read_budget
from talm_sim.common.credentials import Hider, credentials_in_environment, names_credential
from talm_sim.common.gate import read_gate
from talm_sim.common.ignored_parts import check_ignored
from talm_sim.common.shard import read_shard
from talm_sim.common.typed_options import OptionsModel

ENV_PREFIX = "TALM_SIM_"
DEFAULT_MODEL = "openai-api/vllm/smollm2-135m"
"""The model whose recording is shipped with the package."""
_WEAK_MODELS = frozenset({"smollm2-135m"})
"""Model names for which `--tool-format auto` means `constrained`."""
RESULT_LIMIT = 8_000
"""Characters of a tool's result that the built-in agent reads, where the user does not say."""
WHOLE_RESULT = 4_000_000
"""The same of your own agent: no answer of a tool is longer."""


_NAMED = re.compile(r"([\w.-]++)(?=([\"']?\s*[:=]\s*[\"']?[^\s\"'])?)")
"""A word, and what makes it a name. It takes each word whole, so that none is read again from its middle."""
_OF_REQUEST = re.compile(r"header|query|body|param|cookie|extra", re.IGNORECASE)
_LONGEST_NAME = 80
"""Characters of the name of a person who answers."""
_NO_VALUES = frozenset({"", "true", "false", "none", "null"})


class Scope(StrEnum):
    """What changing a field affects; see the module's docstring."""

    GENERATION = "generation"
    SCORING = "scoring"
    OPERATIONAL = "operational"


class Traffic(StrEnum):
    """Where HTTP answers come from."""

    LIVE = "live"
    REPLAY = "replay"
    RECORD = "record"


def option(
    default: Any,
    scope: Scope,
    help_text: str,
    *,
    flag: str | Literal[False] = "",
    flags: Mapping[str, str] | None = None,
    metavar: str = "",
    complete: str = "",
    rare: bool = False,
    ge: float | None = None,
    gt: float | None = None,
    le: float | None = None,
) -> Any:
    """Make a field that is an option; with `...` as the default, it must be given.

    Args:
        default: The option's default.
        scope: What changing the option affects.
        help_text: The option's one-line help.
        flag: A short flag beside the one made from the name (`-M`), or a long one that replaces it (`--from`). False if it has none: it is set
            in the file of `--config`, as `TALM_SIM_<NAME>` or in Python.
        flags: For an option with one flag per value: the values and the help of their flags.
        metavar: The placeholder of the value.
        complete: Where to find the names that a shell offers for the value: `module:attribute` of a collection of strings.
        rare: Whether only `--help-all` shows the option.
        ge: The smallest value.
        gt: A bound that the value must exceed.
        le: The largest value.
    """
    extra: dict[str, Any] = {
        "scope": scope.value,
        "flag": flag,
        "flags": dict(flags or {}),
        "metavar": metavar,
        "complete": complete,
        "rare": rare,
    }
    return Field(default=default, description=help_text, json_schema_extra=extra, ge=ge, gt=gt, le=le)


GEN, SCO, OPE = Scope.GENERATION, Scope.SCORING, Scope.OPERATIONAL


def _has_provider(value: str) -> str:
    if "/" not in value:
        meant = value.replace(":", "/", 1) if ":" in value else f"openai/{value}" if re.match(r"(gpt|o\d)", value) else ""
        meant = meant or (f"anthropic/{value}" if value.startswith("claude") else "")
        hint = f" Did you mean '{meant}'?" if meant else ""
        raise ValueError(f"'{value}' is not a model name: use PROVIDER/NAME, for example openai/gpt-4o or sim/oracle.{hint}")
    return value


def _values_as_text(value: Any) -> Any:
    if not isinstance(value, dict):
        return value
    words = {True: "true", False: "false"}
    return {key: words[one] if type(one) is bool else str(one) if type(one) in {int, float} else one for key, one in value.items()}


def _refuse_secrets(value: dict[str, str]) -> dict[str, str]:
    hide = Hider.from_environment(credentials_in_environment())
    for key, text in value.items():
        said = f"'{key}'" if names_credential(key) and text.lower() not in _NO_VALUES else ""
        if (inside := next(filter(names_credential, _names_in(key, text)), "")) and not said:
            said = f"'{key}' contains '{inside}', which"
        if not said and hide.text(text) != text:
            said = f"'{key}' contains what looks like a credential, which"
        if said:
            raise ValueError(f"{said} would be written into the run; providers read secrets from environment variables.")
    return value


def _names_in(key: str, text: str) -> Iterator[str]:
    """Return the names within an option's value: of JSON objects at any depth, or of lines such as `Authorization: ...`."""
    try:
        level = [json.loads(text)]
    except (ValueError, RecursionError):
        yield from (word for word, named in _NAMED.findall(text) if named) if _OF_REQUEST.search(key) else ()
        return
    while level:
        for one in level:
            if isinstance(one, dict):
                yield from (name for name, item in one.items() if not isinstance(item, dict) and str(item).lower() not in _NO_VALUES)
        level = [item for one in level if isinstance(one, dict | list) for item in (one.values() if isinstance(one, dict) else one)]


class JudgeSampling(OptionsModel):
    """Settings of the judges' model in place of each judge's own."""

    max_new_tokens: int | None = Field(None, ge=1)
    temperature: float | None = Field(None, ge=0, le=2)


def _number_as_text(value: Any) -> Any:
    return str(value) if type(value) is int else value


def check_person(value: str) -> str:
    """Return the name of a person who answers, without white space around it.

    Raises:
        ValueError: It is longer than a name, or contains something that cannot be printed.
    """
    name = value.strip()
    if len(name) > _LONGEST_NAME or not name.isprintable():
        raise ValueError(f"a name has at most {_LONGEST_NAME} printable characters, on one line")
    return name


def _check_limit(value: str) -> str:
    parse_limit(value)
    return value


def _check_budget(value: str) -> str:
    if value:
        read_budget(value)
    return value


def _join_names(value: Any) -> Any:
    """Join names into one text with commas, each once, be they a list or a text with commas or spaces; return anything else as it is."""
    names = value.replace(",", " ").split() if isinstance(value, str) else value
    if not isinstance(names, list | tuple):
        return value
    for name in names:
        if not isinstance(name, str):
            raise ValueError(f"{name!r} is not a name; every item of the list must be one, in quotes.")
    return ",".join(dict.fromkeys(filter(None, (name.strip() for name in names))))


def _check_shard(value: str) -> str:
    return str(read_shard(value))


def _check_gate(value: str) -> str:
    return read_gate(value).text


Names = Annotated[str, BeforeValidator(_join_names)]
"""One name or several, given as a text with commas or as a list, kept as a text with commas."""
ModelName = Annotated[str, AfterValidator(_has_provider)]
"""A model as `provider/name`."""
ProviderOptions = Annotated[dict[str, str], BeforeValidator(_values_as_text), AfterValidator(_refuse_secrets)]
"""Options of a model's provider; numbers and booleans are taken as text, secrets are refused."""
_JudgeOptions = Annotated[
    dict[str, str],
    BeforeValidator(_values_as_text),
    AfterValidator(lambda given: JudgeSampling(**given) and given),
    Field(exclude_if=lambda given: not given),
]
"""Settings of the judges' model, see `JudgeSampling`; stored only where there are any, as earlier versions have none."""
_PersonName = Annotated[str, AfterValidator(check_person)]
"""What a person calls themselves; see `check_person`."""
_BudgetText = Annotated[Names, AfterValidator(_check_budget)]
"""Limits of what a command spends, see `read_budget`; empty for none."""
_GateText = Annotated[str, AfterValidator(_check_gate)]
"""`[GROUP.]MEASURE>=NUMBER`; see `read_gate`."""
_IgnoredText = Annotated[str, AfterValidator(check_ignored)]
"""A regular expression; see `check_ignored`."""
_ShardText = Annotated[str, AfterValidator(_check_shard)]
"""`I/N`; see `read_shard`."""
Limit = Annotated[str, BeforeValidator(_number_as_text), AfterValidator(_check_limit)]
"""`N` or `A-B`; see `parse_limit`."""


_LogLevel = Literal["debug", "info", "warning", "error"]
"""The levels of logging."""


class RunConfig(OptionsModel):
    """Everything that decides a run. A name that is not a field here is the task's own and is kept in `options`.

    Values are checked here. Names are looked up when something is done with it (`run`, `ablate`, `load_config`): `task`, `split`, `model`,
    `judge`, `scenario` and `category`, and with the task, whether an option in `options` is one of its own and has a right value.
    """

    task: str = option("talm", GEN, "What to measure.", metavar="NAME")
    split: Names = option("all", GEN, "Groups: talm-sim tasks show TASK.", metavar="S[,S]")
    scenario: tuple[str, ...] = option((), GEN, "Only the scenario with this id; repeatable.", metavar="ID")
    category: tuple[str, ...] = option((), GEN, "Only scenarios that use tools of this category; repeatable.", flag=False, metavar="NAME")
    scenarios: Path | None = option(None, GEN, "Scenarios (JSONL) instead of the bundled ones.", metavar="FILE")
    limit: Limit | None = option(None, GEN, "First N, or A to B, of each group.", metavar="N|A-B")
    shard: _ShardText | None = option(None, GEN, "Run part I of N; join them with runs merge.", metavar="I/N", rare=True)
    epochs: int = option(1, GEN, "How often to run each scenario.", metavar="N", ge=1)
    model: ModelName = option(DEFAULT_MODEL, GEN, "PROVIDER/NAME.  [default: the recorded one]", metavar="P/N")
    model_options: ProviderOptions = option({}, GEN, "Option for the model provider; repeatable.", flag="-M", metavar="K=V")
    tool_format: Literal["auto", "native", "constrained"] = option("auto", GEN, "auto, native or constrained.", metavar="NAME", rare=True)
    prompts: Path | None = option(None, GEN, "TOML file with prompt texts to use instead.", flag=False, metavar="FILE")
    temperature: float | None = option(None, GEN, "Sampling temperature.  [default: the task's]", metavar="X", ge=0, le=2)
    max_new_tokens: int | None = option(None, GEN, "Maximum tokens per model turn.  [default: task's]", metavar="N", rare=True, ge=1)
    seed: int = option(0, GEN, "Seed for sampling and perturbations.", flag=False, metavar="N")
    options: dict[str, Any] = Field(default={}, json_schema_extra={"scope": GEN.value, "flag": None})
    """The task's own options as given; once a run is built, all of them with their values."""

    judge: tuple[str, ...] = option((), SCO, "Judge to use; repeatable.  [default: the task's]", metavar="NAME")
    judge_model: ModelName | None = option(None, SCO, "Model for the judges that need one.", metavar="P/N")
    judge_options: _JudgeOptions = option({}, SCO, "max_new_tokens, temperature of it; repeatable.", metavar="K=V", rare=True)

    tools: Traffic | None = option(None, OPE, "live|replay|record  [default: as recorded]", flag=False, metavar="HOW")
    models: Traffic | None = option(None, OPE, "live|replay|record  [default: as recorded]", flag=False, metavar="HOW")
    cassettes: Path | None = option(None, OPE, "Recordings.  [default: the bundled ones]", metavar="DIR")
    ignore_in_prompts: tuple[_IgnoredText, ...] = option((), OPE, "What recordings ignore of prompts; repeatable.", metavar="REGEX", rare=True)
    run_dir: Path = option(Path("runs"), OPE, "Directory of the runs.", metavar="DIR", rare=True)
    run_id: str | None = option(None, OPE, "Name of the run.  [default: time, model, split]", metavar="NAME")
    budget: _BudgetText = option(
        "", OPE, "Limit requests, tokens, cost, minutes.", metavar="KEY=N,...", complete="talm_sim.common.budgets:BUDGET_WORDS"
    )
    prices: Path | None = option(None, OPE, "Also print the cost, at these prices.", metavar="F.toml")
    on: str | None = option(None, OPE, "Play N shards: local:N, ray:N[://HOST:PORT].", metavar="ENGINE[:N]", rare=True)
    max_episodes: int = option(16, OPE, "Episodes at the same time.", flag=False, metavar="N", ge=1)
    max_connections: int = option(16, OPE, "Model requests at the same time.", flag=False, metavar="N", ge=1)
    max_retries: int = option(5, OPE, "Retries per failed request.", metavar="N", ge=0, rare=True)
    timeout: float = option(600.0, OPE, "Timeout of a request, in seconds.", flag=False, metavar="S", gt=0)
    fail_fast: bool = option(True, OPE, "Whether to stop if all of the first requests are refused.", rare=True)
    controls: bool = option(False, OPE, "Also print the rows of the control models.")
    blind: bool = option(False, OPE, "Do not show the person what the user knows.", flag=False)
    name: _PersonName = option("", OPE, "Your name, kept with your answers.", flag=False, metavar="NAME")
    display: Literal["full", "plain", "json", "none"] = option("full", OPE, "full, plain, json or none.", metavar="NAME", rare=True)
    quiet: bool = option(False, OPE, "Print no progress, legend or hints.", flag="-q")
    log_level: _LogLevel | None = option(None, OPE, "debug, info, warning or error.", flag=False, metavar="NAME")
    against: Literal["paper"] | None = option(None, OPE, "paper: print a line per figure that the paper has, too.", metavar="paper")
    gate: tuple[_GateText, ...] = option((), OPE, "Value to reach: pass_rate>=0.6; repeatable.", metavar="GATE")
    baseline: str | None = option(None, OPE, "Run or file that the gates compare with.", flag=False, metavar="RUN|FILE")
    junit: Path | None = option(None, OPE, "Write the episodes as JUnit XML.", flag=False, metavar="FILE")
    summary: Path | None = option(None, OPE, "Write gates and table as Markdown.", flag=False, metavar="FILE")
    plugin: tuple[str, ...] = option((), OPE, "Python module to import first; repeatable.", metavar="MODULE")

    if TYPE_CHECKING:  # which names are right, the task decides

        def __init__(self, **options: Any) -> None: ...

    @model_validator(mode="before")
    @classmethod
    def _sort_names(cls, values: Any) -> Any:
        if not isinstance(values, dict) or not isinstance(values.get("options", {}), dict):
            return values
        if not (own := {name: value for name, value in values.items() if name not in cls.model_fields}):
            return values
        shared = {name: value for name, value in values.items() if name in cls.model_fields}
        return {**shared, "options": {**shared.get("options", {}), **own}}

    @property
    def model_and_adapter(self) -> str:
        """The model as tables name it, with its adapter if it has one."""
        adapter = self.model_options.get("lora")
        return f"{self.model} + {adapter}" if adapter else self.model

    @property
    def judge_sampling(self) -> dict[str, Any]:
        """The settings of the judges' model that the user gives."""
        return JudgeSampling(**self.judge_options).model_dump(exclude_none=True)

    @property
    def constrained(self) -> bool:
        """Whether the model acts through the constrained tool format."""
        return is_constrained(self.model, self.tool_format)


WHOLE = frozenset({"ignore_in_prompts"})
"""Lists of which a variable holds one item, as it may contain commas."""
REMOVED = {"workers": "is gone: processes of this machine play a run with --on local:N."}
"""Options of earlier versions, and what there is now."""


def is_constrained(model: str, tool_format: str) -> bool:
    """Return whether a model writes under a grammar: as `tool_format` says, and with `auto` if the model is a weak one."""
    return model.rsplit("/", 1)[-1] in _WEAK_MODELS if tool_format == "auto" else tool_format == "constrained"


def takes_several(field: FieldInfo) -> bool:
    """Return whether an option takes several names with commas between them."""
    return any(isinstance(one, BeforeValidator) and one.func is _join_names for one in field.metadata)


def scope_of(options: type[BaseModel], name: str) -> Scope:
    """Return the scope of the field `name` of `RunConfig` or of a task's options."""
    extra = options.model_fields[name].json_schema_extra
    assert isinstance(extra, dict)
    return Scope(str(extra["scope"]))


def has_flag(options: type[BaseModel], name: str) -> bool:
    """Return whether a field of `RunConfig` or of a task's options has a flag; one without is set only in a file, the environment or Python."""
    extra = options.model_fields[name].json_schema_extra
    return isinstance(extra, dict) and extra["flag"] not in (False, None)


def spell(name: str, *options: type[BaseModel]) -> str:
    """Return what messages call an option: its flag, or its bare name if it has none.

    >>> spell("split", RunConfig), spell("max_episodes", RunConfig)
    ('--split', 'max_episodes')
    """
    bare = any(name in one.model_fields and not has_flag(one, name) for one in options)
    return name if bare else "--" + name.replace("_", "-")


def parse_limit(text: str | None) -> tuple[int, int | None]:
    """Turn `N` or `A-B` into a half-open range (start, stop) that counts from 0.

    >>> parse_limit("3"), parse_limit("2-4"), parse_limit(None)
    ((0, 3), (1, 4), (0, None))

    Raises:
        ValueError: The text is not a limit, or the range is empty.
    """
    if text is None:
        return 0, None
    first, dash, last = text.partition("-")
    try:
        start, stop = (int(first) - 1, int(last)) if dash else (0, int(first))
    except ValueError:
        raise ValueError(f"'{text}' is not a limit: write a number, for example 20, or a range, for example 21-40.") from None
    if start < 0 or stop < 1:
        raise ValueError(f"limit '{text}' selects nothing: the smallest is 1.")
    if stop <= start:
        raise ValueError(f"limit '{text}' selects nothing: it ends before it begins.")
    return start, stop
