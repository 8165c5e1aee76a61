"""BFCL's rows, from the real files of both versions where they are at hand, and from small ones written here."""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from talm_sim.errors import PrerequisiteError
from talm_sim.tasks.refusal.bfcl import SINGLE_TURN, SUBSETS, data_version, find_data as find, load_bfcl
from talm_sim.types import Calls, Scenario
from tests.tables import labelled

FUNCTION = {
    "name": "get_weather",
    "description": "Weather of a city, now or on a day.",
    "parameters": {
        "type": "dict",
        "properties": {"city": {"type": "string"}, "day": {"type": "string"}},
        "required": ["city"],
    },
}
TRUTH = [{"get_weather": {"city": ["Huế", "Hue"], "day": ["today", ""]}}]


def row(name: str, **changed: Any) -> dict[str, Any]:
    question = [[{"role": "user", "content": "Weather in Huế?"}]]
    return {"id": name, "question": question, "function": [FUNCTION], **changed}


def write(file: Path, *rows: Mapping[str, Any]) -> Path:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("\n".join(json.dumps(one, ensure_ascii=False) for one in rows), encoding="utf-8")
    return file


def own(folder: Path, questions: list[dict[str, Any]], truths: list[dict[str, Any]], subset: str = "simple_python") -> Path:
    write(folder / f"BFCL_v4_{subset}.json", *questions)
    write(folder / "possible_answer" / f"BFCL_v4_{subset}.json", *truths)
    return folder


def calls(scenario: Scenario) -> Calls:
    assert isinstance(scenario.target, Calls)
    return scenario.target


# --- the real files ------------------------------------------------------------------------------------------------------------------------


@pytest.fixture(params=["v3", "v4"])
def real(request: pytest.FixtureRequest) -> Iterator[tuple[str, Path]]:
    yield request.param, request.getfixturevalue(f"bfcl_{request.param}")


def test_every_row_of_either_version_is_read(real: tuple[str, Path]) -> None:
    version, folder = real
    loaded = load_bfcl(folder, SINGLE_TURN)
    assert loaded.version == version
    counts = Counter(scenario.group for scenario in loaded.scenarios)
    simple = sum(counts[name] for name in counts if name.startswith("simple"))
    live_ast = sum(counts[f"live_{name}"] for name in ("simple", "multiple", "parallel", "parallel_multiple"))
    refusal = counts["live_irrelevance"], counts["live_relevance"]
    assert (simple, counts["multiple"], counts["parallel"], counts["parallel_multiple"]) == (550, 200, 200, 200)
    assert (counts["irrelevance"], live_ast, sum(refusal), len(loaded.scenarios)) == (240, 1351, 900, 3641)
    assert refusal == ((882, 18) if version == "v3" else (884, 16))
    assert len({scenario.id for scenario in loaded.scenarios}) == 3641
    assert not any("rows, where" in note for note in loaded.notes)
    faulty = {note.partition(":")[0] for note in loaded.notes}
    both = {"parallel_multiple_12", "parallel_multiple_26", "live_multiple_862-181-3", "live_multiple_964-207-0"}
    both |= {"live_simple_106-63-0", "live_simple_112-68-0"}
    assert faulty == both | ({"simple_363", "javascript_41", "live_parallel_9-5-0"} if version == "v3" else set())
    without = [scenario.id for scenario in loaded.scenarios if not scenario.shown_tools]
    assert without == [f"live_irrelevance_{number}-9-{number - 120}" for number in range(120, 124)]


def test_functions_stand_to_the_letter_and_targets_are_as_published(real: tuple[str, Path]) -> None:
    version, folder = real
    data = folder / "bfcl_eval" / "data"
    java = {"v3": "java", "v4": "simple_java"}[version]
    for subset, file in (("simple_java", java), ("live_irrelevance", "live_irrelevance"), ("live_parallel_multiple", "live_parallel_multiple")):
        lines = (data / f"BFCL_{version}_{file}.json").read_text(encoding="utf-8").split("\n")
        for line, scenario in zip((line for line in lines if line), load_bfcl(data, [subset]).scenarios, strict=True):
            assert all(text in line for text in scenario.shown_tools)
            assert [json.loads(text) for text in scenario.shown_tools] == json.loads(line)["function"]
            assert list(scenario.turns[0].messages) == json.loads(line)["question"][0]
    (scenario, *_) = load_bfcl(folder, ["simple_java"]).scenarios
    assert (calls(scenario).syntax, calls(scenario).expected) == ("java", "calls")
    assert calls(scenario).accepted[0].arguments == {"controller": ("mapController",), "parent": ("mapArea",)}
    (first, *_) = load_bfcl(folder, ["live_relevance", "irrelevance"]).scenarios
    assert calls(first) == Calls(expected="any")
    assert {calls(one).expected for one in load_bfcl(folder, ["irrelevance", "live_irrelevance"]).scenarios} == {"none"}


def test_a_repeated_id_and_a_wrong_name_of_v3_are_mended(bfcl_v3: Path) -> None:
    names = [scenario.id for scenario in load_bfcl(bfcl_v3, ["live_relevance"]).scenarios]
    assert names[3:5] == ["live_relevance_3-3-0", "live_relevance_3-3-0_2"]
    by_id = {scenario.id: scenario for scenario in load_bfcl(bfcl_v3, ["simple_python", "simple_javascript"]).scenarios}
    assert calls(by_id["simple_363"]).accepted[0].name == "restaurant_search.find_closest"
    assert calls(by_id["javascript_41"]).accepted[0].name == "queue_1"


# --- where the data are --------------------------------------------------------------------------------------------------------------------


def test_the_version_is_read_from_the_files_names(tmp_path: Path) -> None:
    write(tmp_path / "BFCL_v3_irrelevance.json", row("irrelevance_0"))
    assert data_version(tmp_path) == "v3"
    loaded = load_bfcl(tmp_path, ["irrelevance"])
    assert loaded.version == "v3" and loaded.notes == ("irrelevance (en): 1 rows, where BFCL v3 has 240",)
    write(tmp_path / "BFCL_v4_irrelevance.json", row("irrelevance_0"))
    with pytest.raises(PrerequisiteError, match="files of v3 and v4; keep one version per folder"):
        data_version(tmp_path)


def test_data_that_are_not_there_are_asked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(find, "find_spec", lambda _: None)
    with pytest.raises(PrerequisiteError, match=r"^BFCL's data was not found: pip install --no-deps bfcl-eval, or .* --bfcl\.$"):
        load_bfcl(None, ["irrelevance"])
    with pytest.raises(PrerequisiteError, match="contains no file BFCL_v3_"):
        load_bfcl(tmp_path, ["irrelevance"])
    write(tmp_path / "BFCL_v5_irrelevance.json", row("irrelevance_0"))
    with pytest.raises(PrerequisiteError, match="files of v5, and only v3 and v4 are read"):
        load_bfcl(tmp_path, ["irrelevance"])
    with pytest.raises(PrerequisiteError, match=r"there is no such subset .* Did you mean 'irrelevance'\?"):
        load_bfcl(tmp_path, ["irelevance"])


def test_a_file_of_bfcls_that_is_missing_or_empty_is_named(tmp_path: Path) -> None:
    own(tmp_path, [row("simple_python_0")], [{"id": "simple_python_0", "ground_truth": TRUTH}])
    with pytest.raises(PrerequisiteError, match=r"/BFCL_v4_irrelevance\.json: is missing; add this file of BFCL's, or leave irrelevance out"):
        load_bfcl(tmp_path, ["irrelevance"])
    (tmp_path / "BFCL_v4_irrelevance.json").write_text("\n", encoding="utf-8")
    with pytest.raises(PrerequisiteError, match=r"/BFCL_v4_irrelevance\.json: is empty; put BFCL's own file in its place"):
        load_bfcl(tmp_path, ["simple_python", "irrelevance"])
    (tmp_path / "possible_answer" / "BFCL_v4_simple_python.json").unlink()
    with pytest.raises(PrerequisiteError, match=r"/possible_answer/BFCL_v4_simple_python\.json: is missing; .* leave simple_python out"):
        load_bfcl(tmp_path, ["simple_python"])
    with pytest.raises(PrerequisiteError, match=r"/BFCL_v4_simple_python\.json: is one of BFCL's own files; give the folder of them all"):
        load_bfcl(tmp_path / "BFCL_v4_simple_python.json", ["simple_python"])
    with pytest.raises(PrerequisiteError, match=r"/nowhere: does not exist; give the folder of BFCL's files"):
        load_bfcl(tmp_path / "nowhere", ["simple_python"])
    with pytest.raises(PrerequisiteError, match=r"/rows\.jsonl: contains no row; write one BFCL row per line"):
        load_bfcl(write(tmp_path / "rows.jsonl"), ["simple_python"])


def test_the_packages_folder_is_taken_for_that_of_its_data(tmp_path: Path) -> None:
    own(tmp_path / "bfcl_eval" / "data", [row("simple_python_0")], [{"id": "simple_python_0", "ground_truth": TRUTH}])
    for folder in (tmp_path, tmp_path / "bfcl_eval", tmp_path / "bfcl_eval" / "data"):
        assert [one.id for one in load_bfcl(folder, ["simple_python"]).scenarios] == ["simple_python_0"]


def test_the_installed_package_is_found_without_importing_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = tmp_path / "bfcl_eval"
    own(package / "data", [row("simple_python_0")], [{"id": "simple_python_0", "ground_truth": TRUTH}])
    (package / "__init__.py").write_text("raise RuntimeError('it was imported')\n", encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    for name in [name for name in sys.modules if name.partition(".")[0] == "bfcl_eval"]:
        monkeypatch.delitem(sys.modules, name)
    (scenario,) = load_bfcl(None, ["simple_python"]).scenarios
    assert calls(scenario).accepted[0].arguments == {"city": ("Huế", "Hue"), "day": ("today", "")}


# --- bad rows ------------------------------------------------------------------------------------------------------------------------------


@labelled
def test_a_bad_row_is_one_line_with_file_and_line(tmp_path: Path, question: dict[str, Any], truth: Any, said: str) -> None:
    answers = [{"id": f"simple_python_{number}", "ground_truth": one} for number, one in enumerate((TRUTH, truth))]
    own(tmp_path, [row("simple_python_0"), row("simple_python_1", **question)], answers)
    with pytest.raises(PrerequisiteError, match=said) as fault:
        load_bfcl(tmp_path, ["simple_python"])
    assert "\n" not in str(fault.value)


def test_functions_are_cut_out_of_any_spacing(tmp_path: Path) -> None:
    odd = '{ "function"\t:[ {"name" :"a","x":"]},{"} , {"name":"b\\u00e9", "y" : [ ] }] ,"id":"irrelevance_0", '
    odd += '"question":[[{"role":"user","content":"\\"function\\": [1]"}]]}'
    (tmp_path / "BFCL_v4_irrelevance.json").write_text(odd, encoding="utf-8")
    (scenario,) = load_bfcl(tmp_path, ["irrelevance"]).scenarios
    assert scenario.shown_tools == ('{"name" :"a","x":"]},{"}', '{"name":"b\\u00e9", "y" : [ ] }')


# --- translations --------------------------------------------------------------------------------------------------------------------------


def translated(name: str, subset: str, language: str, **changed: Any) -> dict[str, Any]:
    truth = TRUTH if SUBSETS.get(subset) and SUBSETS[subset].expected == "calls" else []
    known = {"subset": subset, "language": language, "test_category": subset, "ground_truth": truth}
    return row(name, **known, **changed) if "question" in changed else {**row(name), **known, **changed}


def test_a_translation_is_read_by_language_and_subset(tmp_path: Path) -> None:
    asked = [[{"role": "user", "content": "อากาศที่เว้เป็นอย่างไร"}]]
    file = write(
        tmp_path / "mine.jsonl",
        translated("irrelevance_0_th", "irrelevance", "th"),
        translated("simple_python_0_vi", "simple_python", "vi"),
        translated("simple_python_0_th", "simple_python", "th", question=asked),
        translated("simple_python_1", "simple_python", "th"),
        translated("simple_python_1", "simple_python", "en"),
    )
    loaded = load_bfcl(file, ["simple_python", "irrelevance"], ["th"])
    assert [scenario.id for scenario in loaded.scenarios] == ["simple_python_0_th", "simple_python_1_th", "irrelevance_0_th"]
    assert loaded.scenarios[0].query == asked[0][0]["content"] and loaded.scenarios[0].language == "th"
    assert loaded.version is None and "simple_python (th): 2 rows, where BFCL v3 or v4 has 400" in loaded.notes
    assert [one.id for one in load_bfcl(file, ["simple_python"], ["en", "vi"]).scenarios] == ["simple_python_1", "simple_python_0_vi"]
    with pytest.raises(PrerequisiteError, match=r"mine\.jsonl: has no row of subset irrelevance in language vi; leave it out\.$"):
        load_bfcl(file, ["irrelevance"], ["th", "vi"])


def test_the_names_of_v3_are_known_and_its_faults_under_any_suffix(tmp_path: Path) -> None:
    wrong = [{"find_closest": {"city": ["Huế"]}}]
    file = write(
        tmp_path / "rows.jsonl",
        translated("simple_363_vi", "simple", "vi", ground_truth=wrong),
        translated("live_relevance_3-3-0_vi", "live_relevance", "vi"),
        translated("live_relevance_3-3-0_vi", "live_relevance", "vi"),
    )
    loaded = load_bfcl(file, ["simple_python", "live_relevance"], ["vi"])
    assert [one.id for one in loaded.scenarios] == ["simple_363_vi", "live_relevance_3-3-0_vi", "live_relevance_3-3-0_vi_2"]
    assert calls(loaded.scenarios[0]).accepted[0].name == "get_weather"
    assert any(note.startswith("simple_363_vi: the published ground truth names find_closest") for note in loaded.notes)


@labelled
def test_a_bad_row_of_a_translation_is_one_line(tmp_path: Path, changed: dict[str, Any], said: str) -> None:
    file = write(tmp_path / "rows.jsonl", translated("irrelevance_0", "irrelevance", "vi") | changed)
    with pytest.raises(PrerequisiteError, match=said):
        load_bfcl(file, ["irrelevance"], ["vi"])
