"""`RunConfig`: the one place where options are defined. Command-line options, environment names and TOML keys derive from its fields.

Each field carries a *scope*:

- `generation`: changes what the agent does; two runs that differ here are different experiments.
- `scoring`: changes what the answers are worth; a stored run can be judged again under another value.
- `operational`: changes neither; `resume` may override it.

Secrets never enter a `RunConfig`: providers read them from the environment.
"""

from __future__ import annotations

import os
import re
from enum import StrEnum
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, ValidationInfo, field_validator, model_validator
from pydantic.fields import FieldInfo

from talm_sim.digests import digest
from talm_sim.errors import PrerequisiteError, did_you_mean
from talm_sim.toml_files import read_toml

__all__ = ["DEFAULT_MODEL", "ENV_PREFIX", "SPLITS", "TEMPERATURES", "RunConfig", "Scope", "Traffic", "parse_limit", "scope_of"]

ENV_PREFIX = "TALM_SIM_"
DEFAULT_MODEL = "openai-api/vllm/smollm2-135m"
"""The model whose recording is shipped with the package."""
WEAK_MODELS = frozenset({"smollm2-135m"})
"""Model names for which `--tool-format auto` means `constrained`."""
SPLITS: dict[str, dict[str, tuple[str, ...]]] = {
    "talm": {
        "perfect": ("perfect",),
        "underspecified": ("underspecified",),
        "unavailable": ("replaceable", "non-replaceable"),
        "replaceable": ("replaceable",),
        "non-replaceable": ("non-replaceable",),
        "no-tools": ("no-tools",),
        "all": ("perfect", "underspecified", "replaceable", "non-replaceable", "no-tools"),
    },
    "when2call": {
        "tool_call": ("tool_call",),
        "request_for_info": ("request_for_info",),
        "cannot_answer": ("cannot_answer",),
        "direct": ("direct",),
        "all": ("tool_call", "request_for_info", "cannot_answer", "direct"),
    },
}
"""Task to the names of its splits, and the scenario groups each holds."""
TEMPERATURES = {"talm": 1.0, "when2call": 0.0}
"""What a task samples with where nothing else is asked for: the papers' settings."""

_JUDGES = {"talm": ("reference", "llm", "preference"), "when2call": ("behaviour", "behaviour-llm")}
"""Task to the built-in judges made for it; judges of the user's own may judge any."""
_SECRET_OPTION = re.compile(r"api_?key|(?:access|auth|bearer)_?token|secret|password|authorization|credential", re.IGNORECASE)


class Scope(StrEnum):
    """What a field may change; see the module's docstring."""

    GENERATION = "generation"
    SCORING = "scoring"
    OPERATIONAL = "operational"


class Traffic(StrEnum):
    """Where HTTP answers come from."""

    LIVE = "live"
    REPLAY = "replay"
    RECORD = "record"


def _field(
    default: Any,
    scope: Scope,
    help_text: str,
    *,
    flag: str = "",
    metavar: str = "",
    ge: float | None = None,
    gt: float | None = None,
    le: float | None = None,
) -> Any:
    """A field with its scope, its one-line help, its bounds and, where they differ from the name, its command-line flag and placeholder."""
    extra: dict[str, Any] = {"scope": scope.value, "flag": flag, "metavar": metavar}
    return Field(default=default, description=help_text, json_schema_extra=extra, ge=ge, gt=gt, le=le)


GEN, SCO, OPE = Scope.GENERATION, Scope.SCORING, Scope.OPERATIONAL


class RunConfig(BaseModel):
    """Everything that decides a run. Frozen; unknown keys are refused."""

    model_config = ConfigDict(frozen=True, extra="forbid", validate_default=True, allow_inf_nan=False)

    task: Literal["talm", "when2call"] = _field("talm", GEN, "What is measured.")
    split: str = _field("all", GEN, "Scenario groups to run. " + " ".join(f"{task}: {', '.join(splits)}." for task, splits in SPLITS.items()))
    scenarios: Path | None = _field(None, GEN, "JSONL file of scenarios to run in place of the packaged ones.", metavar="FILE")
    limit: str | None = _field(None, GEN, "Run the first N scenarios of each group, or those from A to B (counted from 1).", metavar="N|A-B")
    epochs: int = _field(1, GEN, "Times each scenario is run.", metavar="N", ge=1)
    model: str = _field(DEFAULT_MODEL, GEN, "Model as PROVIDER/NAME.", metavar="P/N")
    model_options: dict[str, str] = _field({}, GEN, "Option passed to the model provider; repeatable.", flag="-M", metavar="K=V")
    tool_format: Literal["auto", "native", "constrained"] = _field(
        "auto", GEN, "How the model calls tools: the provider's own tool calls, or one grammar-constrained action a turn (for weak models)."
    )
    human: Literal["auto", "none", "terminal", "recorded", "simulated"] = _field(
        "auto", GEN, "Who answers the agent's questions. auto: recorded on replay, none otherwise."
    )
    perturb: tuple[str, ...] = _field((), GEN, "Damage the tools on purpose; repeatable.", metavar="NAME[:k=v,...]")
    prompts: Path | None = _field(None, GEN, "TOML file with prompt wordings to use in place of the built-in ones.", metavar="FILE")
    turn_limit: int = _field(5, GEN, "Model turns an episode may take after the awareness question.", metavar="N", ge=1)
    token_limit: int | None = _field(None, GEN, "Tokens (input and output) an episode may use.", metavar="N", ge=1)
    temperature: float | None = _field(None, GEN, "Sampling temperature. Default: 1.0 for talm, 0 for when2call.", metavar="X", ge=0, le=2)
    max_new_tokens: int = _field(512, GEN, "Tokens one model turn may generate.", metavar="N", ge=1)
    mode: Literal["logprob", "judge"] = _field(
        "logprob", GEN, "Task when2call. logprob: the likeliest of four given answers; judge: a free answer, classified."
    )
    template: str = _field(
        "auto", GEN, "Task when2call: how tools and calls are written for the model; a built-in style, or a Jinja file.", metavar="NAME|FILE"
    )
    seed: int = _field(0, GEN, "Seed of sampling and perturbations.", metavar="N")

    judge: tuple[str, ...] = _field((), SCO, "Judge to apply; repeatable. Default: those the task's table needs.", metavar="NAME")
    judge_model: str | None = _field(
        None, SCO, "Model of the llm, preference and behaviour-llm judges; never the agent's own by default.", metavar="P/N"
    )
    paired_run: Path | None = _field(
        None, SCO, "Stored run that holds the `perfect` episodes which no-tools answers are compared with.", metavar="RUN"
    )

    tools: Traffic | None = _field(None, OPE, "Tool traffic. Default: replay where a recording is found, else live.")
    models: Traffic | None = _field(None, OPE, "Model traffic. Default: replay where a recording is found, else live.")
    cassettes: Path | None = _field(None, OPE, "Directory of recordings to read and write. Default: the shipped ones.", metavar="DIR")
    run_dir: Path = _field(Path("runs"), OPE, "Directory that holds runs.", metavar="DIR")
    run_id: str | None = _field(None, OPE, "Name of the run. Default: made from time, model and split.", metavar="NAME")
    max_episodes: int = _field(16, OPE, "Episodes in flight.", metavar="N", ge=1)
    max_connections: int = _field(16, OPE, "Model requests in flight.", metavar="N", ge=1)
    max_retries: int = _field(5, OPE, "Times a failed model request is tried again.", metavar="N", ge=0)
    timeout: float = _field(600.0, OPE, "Seconds one request may take.", metavar="S", gt=0)
    controls: bool = _field(False, OPE, "Print the control models' rows beside the model's, labelled as controls.")
    display: Literal["full", "plain", "json", "none"] = _field("full", OPE, "What to show while running.")

    @field_validator("split")
    @classmethod
    def _known_split(cls, value: str, info: ValidationInfo) -> str:
        splits = SPLITS.get(info.data.get("task", ""), {})
        if splits and value not in splits:
            raise ValueError(f"unknown split '{value}' of task {info.data['task']}.{did_you_mean(value, splits)}")
        return value

    @field_validator("limit", mode="before")
    @classmethod
    def _number_as_text(cls, value: Any) -> Any:
        return str(value) if type(value) is int else value

    @field_validator("limit")
    @classmethod
    def _valid_limit(cls, value: str | None) -> str | None:
        parse_limit(value)
        return value

    @field_validator("model", "judge_model")
    @classmethod
    def _has_provider(cls, value: str | None) -> str | None:
        if value is not None and "/" not in value:
            raise ValueError(f"'{value}' is no model: write PROVIDER/NAME, e.g. openai/gpt-4o or sim/oracle.")
        return value

    @field_validator("model_options", mode="before")
    @classmethod
    def _values_as_text(cls, value: Any) -> Any:
        if not isinstance(value, dict):
            return value
        words = {True: "true", False: "false"}
        return {key: words[one] if type(one) is bool else str(one) if type(one) in {int, float} else one for key, one in value.items()}

    @field_validator("model_options")
    @classmethod
    def _no_secrets(cls, value: dict[str, str]) -> dict[str, str]:
        for key in value:
            if _SECRET_OPTION.search(key):
                raise ValueError(f"'{key}' would be written into the run; providers read secrets from environment variables.")
        return value

    @model_validator(mode="after")
    def _options_fit_the_task(self) -> RunConfig:
        talm_only = {
            "human": self.human not in {"auto", "none"},
            "perturb": bool(self.perturb),
            "paired_run": self.paired_run is not None,
            "turn_limit": self.turn_limit != type(self).model_fields["turn_limit"].default,
            "token_limit": self.token_limit is not None,
        }
        choice_only = {"mode": self.mode != "logprob", "template": self.template != "auto"}
        for name, given in (choice_only if self.task == "talm" else talm_only).items():
            if given:
                raise ValueError(f"--{name.replace('_', '-')} is no option of task {self.task}; leave it out, or choose another --task.")
        for judge in self.judge:
            if any(judge in judges for task, judges in _JUDGES.items() if task != self.task):
                raise ValueError(f"--judge {judge}: does not judge task {self.task}; choose among {', '.join(_JUDGES[self.task])}.")
        return self

    @property
    def groups(self) -> tuple[str, ...]:
        """Scenario groups of the split."""
        return SPLITS[self.task][self.split]

    @property
    def sampling_temperature(self) -> float:
        """The temperature given, or the task's own."""
        return TEMPERATURES[self.task] if self.temperature is None else self.temperature

    @property
    def constrained(self) -> bool:
        """Whether the model acts through the constrained tool format."""
        if self.tool_format == "auto":
            return self.model.rsplit("/", 1)[-1] in WEAK_MODELS
        return self.tool_format == "constrained"

    def fields_of(self, scope: Scope) -> dict[str, Any]:
        """JSON values of the fields of one scope."""
        return {name: value for name, value in self.model_dump(mode="json").items() if scope_of(name) is scope}

    def generation_digest(self) -> str:
        """Digest of what shapes the requests of one conversation: part of a model cassette's key.

        The human counts only as present or absent: what was answered stands in the recorded conversation itself.
        """
        shown = {} if self.task == "talm" else {"task": self.task, "mode": self.mode, "template": self._template_text()}
        return digest(
            shown
            | {
                "model": self.model,
                "model_options": self.model_options,
                "tool_format": "constrained" if self.constrained else "native",
                "human": self.human != "none",
                "perturb": self.perturb,
                "prompts": self.prompts.read_text(encoding="utf-8") if self.prompts else "",
                "temperature": self.sampling_temperature,
                "max_new_tokens": self.max_new_tokens,
                "seed": self.seed,
            }
        )

    def _template_text(self) -> str:
        """What stands in the template where it is a file of the user's, else its name."""
        path = Path(self.template)
        return path.read_text(encoding="utf-8", errors="replace") if path.is_file() else self.template

    @classmethod
    def load(cls, file: Path | None = None, environ: dict[str, str] | None = None, **options: Any) -> RunConfig:
        """Build a config from, in rising priority: defaults, TOML file, `TALM_SIM_<FIELD>` environment variables, `options`.

        Args:
            file: TOML file whose top-level keys are field names.
            environ: Environment to read; the process's own by default.
            **options: Field values; None means "not given".

        Raises:
            PrerequisiteError: A value or key is wrong; the message names where it came from.
        """
        values: dict[str, Any] = {}
        origin: dict[str, str] = {}
        if file is not None:
            for key, value in read_toml(file, "--config").items():
                name = key.replace("-", "_")
                if name not in cls.model_fields:
                    raise PrerequisiteError(f"{file}: unknown key '{key}'.{did_you_mean(name, cls.model_fields)}")
                values[name], origin[name] = value, f"{file}: {key}"
        for name, text in _from_environ(cls.model_fields, os.environ if environ is None else environ).items():
            values[name], origin[name] = text, ENV_PREFIX + name.upper()
        for name, value in options.items():
            if value is not None:
                values[name], origin[name] = value, "--" + name.replace("_", "-")
        try:
            return cls(**values)
        except ValidationError as err:
            first = err.errors()[0]
            name = str(first["loc"][0]) if first["loc"] else ""
            message = first["msg"].removeprefix("Value error, ")
            if not name:  # said of an option by its flag; the user may have written it elsewhere
                place = next((place for key, place in origin.items() if message.startswith(f"--{key.replace('_', '-')} ")), "")
                message = place + message[message.index(" ") :] if place else message
            raise PrerequisiteError(f"{origin[name]}: {message}" if name in origin else message) from None


def scope_of(name: str) -> Scope:
    """Scope of the field `name` of `RunConfig`."""
    extra = RunConfig.model_fields[name].json_schema_extra
    assert isinstance(extra, dict)
    return Scope(str(extra["scope"]))


def parse_limit(text: str | None) -> tuple[int, int | None]:
    """Turn `N` or `A-B` into a half-open range (start, stop) counted from 0.

    >>> parse_limit("3"), parse_limit("2-4"), parse_limit(None)
    ((0, 3), (1, 4), (0, None))

    Raises:
        ValueError: The text is neither, or the range is empty.
    """
    if text is None:
        return 0, None
    first, dash, last = text.partition("-")
    try:
        start, stop = (int(first) - 1, int(last)) if dash else (0, int(first))
    except ValueError:
        raise ValueError(f"'{text}' is no limit: write a number such as 20, or a range such as 21-40.") from None
    if start < 0 or stop < 1:
        raise ValueError(f"limit '{text}' selects nothing: the smallest is 1.")
    if stop <= start:
        raise ValueError(f"limit '{text}' selects nothing: it ends before it begins.")
    return start, stop


def _from_environ(fields: dict[str, FieldInfo], environ: Any) -> dict[str, Any]:
    """Values given as `TALM_SIM_<FIELD>`; lists are split at commas, `k=v` lists become mappings."""
    found: dict[str, Any] = {}
    for name, field in fields.items():
        text = environ.get(ENV_PREFIX + name.upper())
        if text is None:
            continue
        default = field.default
        if isinstance(default, tuple):
            found[name] = tuple(part for part in text.split(",") if part)
        elif isinstance(default, dict):
            pairs = [part.partition("=") for part in text.split(",") if part]
            for key, equals, value in pairs:
                if not key or not equals:
                    raise PrerequisiteError(f"{ENV_PREFIX}{name.upper()}: '{key + equals + value}' is no K=V pair.")
            found[name] = {key: value for key, _, value in pairs}
        else:
            found[name] = text
    return found
