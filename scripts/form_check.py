"""Can the right answer be told without reading? Balanced accuracy of a logistic regression on length, final mark, first and last word.

Of When2Call's items also: the number of shown tools, a rule of two words, the words that request, options and tools share, and those of
the options.

    scripts/form_check.py                       packaged items of tasks when2call, awareness and refusal: questions, and options each alone
    scripts/form_check.py --published FOLDER    beside them the figures of the published When2Call rows in FOLDER
    scripts/form_check.py --task when2call --scenarios FILE    one task's items of a file; exit code 1 where a figure is too high

Items made of one source are never in training and test at once. At chance, the form says nothing; words always say something, so their limits
are what the published rows give away.
"""

from __future__ import annotations

import argparse
import json
import math
import random
import re
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from talm_sim.scenarios.item_tools import parameters_of, required_of, spec_of
from talm_sim.tasks import find_task
from talm_sim.types import Calls, Choice, Scenario, YesNo

FOLDS = 5
MOST = 0.10
"""How far above chance a balanced accuracy may be."""
LIMITS = {"number of tools": 0.45, "rule of two words": 0.85, "shared words": 0.8, "words of options": 0.55}
"""The most of what tells in When2Call's items: what 151 published rows gave (.42, .85, .78, .50), in steps of .05."""
TASKS = ("when2call", "awareness", "refusal")
CLASSES = ("tool_call", "request_for_info", "cannot_answer")
_EPOCHS = 60
_PENALTY = 1.0
"""Of squared weights, for all texts together: the strength that scikit-learn has by default."""
_WORD = re.compile(r"[^\W_]+(?:['\u2019-][^\W_]+)*")
Form = Mapping[str, str | float]
_Features = list[tuple[int, float]]


def balanced_accuracy_of_form(texts: Sequence[str], labels: Sequence[str], sources: Sequence[str]) -> float:
    """Return the mean recall of the classes when only a text's form is seen, over folds that keep a source together.

    Args:
        texts: The texts.
        labels: The class of each.
        sources: What each was made from; texts of one source are never on both sides of a fold.

    Raises:
        ValueError: The lists differ in length, there is only one class, or there are fewer sources than folds.
    """
    return balanced_accuracy_of([form_of(text) for text in texts], labels, sources)


def balanced_accuracy_of(forms: Sequence[Form], labels: Sequence[str], sources: Sequence[str]) -> float:
    """Return the same where other things are seen than the form of a text: numbers and names, by what they are called."""
    if not len(forms) == len(labels) == len(sources):
        raise ValueError("texts, labels and sources have different lengths")
    if len(set(labels)) < 2:
        raise ValueError("there is only one class, so nothing can be told apart")
    place = _folds(sources)
    guessed = [""] * len(labels)
    for fold in range(FOLDS):
        learnt = [index for index, source in enumerate(sources) if place[source] != fold]
        asked = [index for index, source in enumerate(sources) if place[source] == fold]
        classify = _Classifier([forms[index] for index in learnt], [labels[index] for index in learnt])
        for index in asked:
            guessed[index] = classify(forms[index])
    return _balanced(labels, guessed)


def form_of(text: str) -> dict[str, str | float]:
    """Return what is seen of a text: two lengths, final mark, first and last word; digits are all alike."""
    words = [re.sub(r"\d", "0", word.casefold()) for word in _WORD.findall(text)]
    last = text.strip()[-1:]
    return {
        "characters": math.log1p(len(text)),
        "words": math.log1p(len(words)),
        "mark": last if last and not last.isalnum() else "none",
        "first": words[0] if words else "",
        "last": words[-1] if words else "",
    }


class _Classifier:
    """A multinomial logistic regression whose classes weigh the same, fitted by stochastic gradient descent with a fixed seed."""

    def __init__(self, forms: Sequence[Form], labels: Sequence[str]) -> None:
        self._labels = sorted(set(labels))
        numbers = sorted({name for form in forms for name, value in form.items() if not isinstance(value, str)})
        self._scales = {name: _scale([float(form.get(name, 0.0)) for form in forms]) for name in numbers}
        named = {(name, value) for form in forms for name, value in form.items() if isinstance(value, str)}
        self._columns = {key: number for number, key in enumerate(sorted(named), len(self._scales) + 1)}
        self._weights = [[0.0] * (len(self._columns) + len(self._scales) + 1) for _ in self._labels]
        count = Counter(labels)
        balance = [len(labels) / (len(self._labels) * count[label]) for label in labels]
        self._fit([self._features(form) for form in forms], [self._labels.index(label) for label in labels], balance)

    def __call__(self, form: Form) -> str:
        scores = self._scores(self._features(form))
        return self._labels[scores.index(max(scores))]

    def _features(self, form: Form) -> _Features:
        found: _Features = [(0, 1.0)]
        for number, (name, (middle, width)) in enumerate(self._scales.items(), 1):
            found.append((number, (float(form.get(name, 0.0)) - middle) / width))
        known = (self._columns.get((name, value)) for name, value in form.items() if isinstance(value, str))
        return found + [(column, 1.0) for column in known if column is not None]

    def _scores(self, features: _Features) -> list[float]:
        return [sum(row[column] * value for column, value in features) for row in self._weights]

    def _fit(self, rows: Sequence[_Features], targets: Sequence[int], balance: Sequence[float]) -> None:
        # AdaGrad: a rare word gets as long a step as a common one.
        seen = [[1e-8] * len(row) for row in self._weights]
        share = Counter(column for row in rows for column, _ in row)
        shares = [math.inf, *(share[column] / _PENALTY for column in range(1, max(share) + 1))]  # the constant has no penalty
        root = math.sqrt
        order = list(range(len(rows)))
        draw = random.Random(0)
        for _ in range(_EPOCHS):
            draw.shuffle(order)
            for index in order:
                scores = self._scores(rows[index])
                top = max(scores)
                raised = [math.exp(score - top) for score in scores]
                total = sum(raised)
                for label, (weights, squares) in enumerate(zip(self._weights, seen, strict=True)):
                    error = balance[index] * (raised[label] / total - (label == targets[index]))
                    for column, value in rows[index]:
                        weight = weights[column]
                        slope = error * value + weight / shares[column]
                        squares[column] = square = squares[column] + slope * slope
                        weights[column] = weight - 0.3 * slope / root(square)


def _scale(values: Sequence[float]) -> tuple[float, float]:
    middle = sum(values) / len(values)
    return middle, math.sqrt(sum((value - middle) ** 2 for value in values) / len(values)) or 1.0


def _folds(sources: Sequence[str]) -> dict[str, int]:
    """Deal sources to folds of about equal size, the largest first."""
    count = Counter(sources)
    if len(count) < FOLDS:
        raise ValueError(f"{len(count)} sources are too few for {FOLDS} folds")
    names = sorted(count)
    random.Random(0).shuffle(names)
    sizes = [0] * FOLDS
    place = {}
    for name in sorted(names, key=lambda one: -count[one]):
        place[name] = sizes.index(min(sizes))
        sizes[place[name]] += count[name]
    return place


def label_of(item: Scenario) -> str:
    """Return an item's right answer: the behaviour, Yes or No, a call or none."""
    target = item.target
    if isinstance(target, Choice):
        return str(target.gold)
    return target.gold if isinstance(target, YesNo) else target.expected if isinstance(target, Calls) else ""


def measures(items: Sequence[Scenario]) -> Iterator[tuple[str, float, float]]:
    """Yield what was looked at, the balanced accuracy, and the most that it may be."""
    labels, sources = [label_of(item) for item in items], [item.base.split(".")[0] for item in items]
    most = 1 / len(set(labels)) + MOST
    yield "question", balanced_accuracy_of_form([item.query for item in items], labels, sources), most
    options = [_options_of(item) for item in items if isinstance(item.target, Choice)]
    for behaviour in sorted({name for one in options for name in one}):
        accuracy = balanced_accuracy_of_form([one.get(behaviour, "") for one in options], labels, sources)
        yield f"option {behaviour}", accuracy, most
    if not options or len(set(labels)) < len(CLASSES):
        return
    parts = [_Parts(item) for item in items]
    counts: list[Form] = [{"tools": str(len(one.tools))} for one in parts]
    yield "number of tools", balanced_accuracy_of(counts, labels, sources), LIMITS["number of tools"]
    guesses = ([one.guess(described) for one in parts] for described in (False, True))
    yield "rule of two words", max(_balanced(labels, guessed) for guessed in guesses), LIMITS["rule of two words"]
    yield "shared words", balanced_accuracy_of([one.shared() for one in parts], labels, sources), LIMITS["shared words"]
    bags: list[Form] = [{f"{name} {word}": "is" for name, text in one.items() for word in _words(text)} for one in options]
    yield "words of options", balanced_accuracy_of(bags, labels, sources), LIMITS["words of options"]


def _balanced(labels: Sequence[str], guessed: Sequence[str]) -> float:
    right = Counter(label for label, guess in zip(labels, guessed, strict=True) if guess == label)
    return sum(right[label] / number for label, number in Counter(labels).items()) / len(set(labels))


def _options_of(item: Scenario) -> dict[str, str]:
    return {str(one.behaviour): one.text for one in item.target.options} if isinstance(item.target, Choice) else {}


def _words(text: str, least: int = 1) -> set[str]:
    return {word for word in re.findall(r"[^\W_]+", text.casefold()) if len(word) >= least}


class _Parts:
    """What a rule can see of an item without understanding it."""

    def __init__(self, item: Scenario) -> None:
        self._request, self._options = item.query, _options_of(item)
        self.tools = {str(tool.get("name")): tool for tool in map(spec_of, item.shown_tools)}
        found = re.search(r'"name": *"([^"]*)"', self._options.get("tool_call", ""))
        self._called = found[1] if found else ""

    def guess(self, described: bool) -> str:
        """Guess "cannot" where the call is of no shown tool, else by a word that the follow-up shares with what that tool requires.

        Args:
            described: Whether the words of what is required are those of its description, too, and not of its name alone.
        """
        if self._called not in self.tools:
            return "cannot_answer"
        tool = self.tools[self._called]
        known = parameters_of(tool)
        told = [f"{name} {known.get(name, {}).get('description', '') if described else ''}" for name in required_of(tool)]
        return "request_for_info" if _words(" ".join(told), 4) & _words(self._options["request_for_info"], 4) else "tool_call"

    def shared(self) -> Form:
        """Return what share of the words of each part stands in each other part, and whether the call is of a shown tool."""
        tools = " ".join(json.dumps(tool, ensure_ascii=False) for tool in self.tools.values())
        texts = {"request": self._request, "tools": tools, **self._options}
        words = {name: _words(text, 4) for name, text in texts.items()}
        found: dict[str, str | float] = {"called": str(self._called in self.tools)}
        for one, mine in words.items():
            for other, theirs in words.items():
                if one not in (other, "tools"):
                    found[f"{one} in {other}"] = len(mine & theirs) / (len(mine) or 1)
        return found


def main(argv: Sequence[str] | None = None) -> int:
    """Print a line for each task and part; return 1 where one is higher than it may be."""
    parser = argparse.ArgumentParser(description="Can the right answer be told from form alone?")
    parser.add_argument("--task", choices=TASKS, action="append", help="task whose items are measured; repeatable (default: all three)")
    parser.add_argument("--scenarios", type=Path, help="file of items in place of the packaged ones, of one --task")
    parser.add_argument("--published", type=Path, metavar="FOLDER", help="folder with when2call/when2call_sample.jsonl")
    options = parser.parse_args(argv)
    tasks = options.task or list(TASKS)
    if options.scenarios and len(tasks) > 1:
        parser.error("--scenarios: is of one task; name it with --task")
    bad = 0
    for task in tasks:
        found = find_task(task)
        beside: dict[str, float] = {}
        if options.published and task == "when2call":
            rows = found.read(found.splits["all"], options.published / "when2call/when2call_sample.jsonl")
            beside = {what: accuracy for what, accuracy, _ in measures(rows)}
        for what, accuracy, most in measures(found.read(found.splits["all"], options.scenarios)):
            published = f", published {beside[what]:.2f}" if what in beside else ""
            high = accuracy > most
            bad += high
            print(f"{task}, {what}: {accuracy:.2f} (at most {most:.2f}{published}){' TOO HIGH' if high else ''}")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
