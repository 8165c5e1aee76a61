"""Maps are true: a room's docstring names every file and folder of the room once, and none before one that it imports.

docs/architecture.md says where what is: its files are there, and define what it says that they do.
"""

from __future__ import annotations

import ast
import re
from collections import Counter
from pathlib import Path

import talm_sim
from campaign.readers import READERS

PACKAGE = Path(talm_sim.__file__).parent
ROOT = Path(__file__).parents[1]
NAMED = re.compile(r"`(\w+(?:\.py|/))`")
"""How a map names a file (`name.py`) and a folder (`name/`); anything else in backticks is no place."""
FILES_WITHOUT_A_MAP = 4
"""A folder of a room needs a map only if it has more files than this."""


def faults_of(folder: Path) -> list[str]:
    """What is wrong with the map of a room or of a folder in it; one without a map has no faults if it needs none."""
    here = folder.relative_to(PACKAGE.parent).as_posix()
    files = {path.name for path in folder.glob("*.py")} - {"__init__.py"}
    folders = {f"{path.parent.name}/" for path in folder.glob("*/__init__.py")}
    text = ast.get_docstring(ast.parse((folder / "__init__.py").read_text(encoding="utf-8"))) or ""
    named = Counter(NAMED.findall(text))
    if not named:
        needed = folder.parent == PACKAGE or len(files) > FILES_WITHOUT_A_MAP
        return [f"{here}: its docstring has no map"] if needed else []
    there = files | folders
    order = list(named)
    imported = {name: imported_files(folder, name) for name in order if name in files}
    return [
        *(f"{here}: the map names `{name}`, which is not there" for name in named if name not in there),
        *(f"{here}: the map does not name `{name}`" for name in sorted(there - set(named))),
        *(f"{here}: the map names `{name}` {count} times" for name, count in named.items() if count > 1),
        *(
            f"{here}: the map names `{name}` before `{below}`, which it imports"
            for place, name in enumerate(order)
            for below in order[place + 1 :]
            if below in imported.get(name, ())
        ),
    ]


def imported_files(folder: Path, name: str) -> set[str]:
    """Files of a folder that one of its files imports, wherever in its text."""
    room = ".".join(folder.relative_to(PACKAGE.parent).parts)
    from_room = [
        node for node in ast.walk(ast.parse((folder / name).read_text(encoding="utf-8"))) if isinstance(node, ast.ImportFrom) and node.module
    ]
    modules = {node.module for node in from_room} | {f"{node.module}.{alias.name}" for node in from_room for alias in node.names}
    return {f"{module.removeprefix(f'{room}.')}.py" for module in modules if module and module.startswith(f"{room}.")}


def test_maps_are_true() -> None:
    rooms = sorted(path.parent for path in PACKAGE.rglob("__init__.py") if path.parent != PACKAGE)
    faults = [fault for room in rooms for fault in faults_of(room)]
    assert rooms and not faults, "\n".join(["", *faults])


def test_the_page_of_the_rooms_is_true() -> None:
    page = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    faults = []
    for name, behind in re.findall(r"`((?:\w+/)*\w+\.py)`(.*?)(?=`(?:\w+/)*\w+\.py`|\n)", page):
        path = next((folder / name for folder in (PACKAGE, ROOT) if (folder / name).is_file()), None)
        if path is None:
            faults.append(f"{name} is not there")
            continue
        text = path.read_text(encoding="utf-8")
        defined = {name for found in re.findall(r"(?:def|class) (\w+)|^(\w+)(?:: .*)? = ", text, re.MULTILINE) for name in found}
        places = re.findall(r"`([\w.]+)`", behind) if behind.startswith(": ") else []
        faults += [f"{name} defines no {place}" for place in places if not {*place.split(".")} <= defined]
    rooms = {f"{path.parent.name}/" for path in PACKAGE.glob("*/__init__.py")} | {path.name for path in PACKAGE.glob("[!_]*.py")}
    faults += [
        f"{room} has no line in the table of rooms" for room in sorted(rooms) if not re.search(rf"^\|[^|]*`{room}`[^|]*\|", page, re.MULTILINE)
    ]
    assert not faults, "\n".join(["", *faults])


def test_only_files_that_do_the_same_share_a_name() -> None:
    listed = re.search(r"Two files have one name only if .*?: `([^`]+)`", (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8"), re.DOTALL)
    shown = {PACKAGE / folder for folder in ("cli/commands", "cli/report", "world/routers")}
    names = Counter(path.stem for path in PACKAGE.rglob("*.py") if not path.stem.startswith("__") and not shown & {*path.parents})
    assert listed and {name for name, count in names.items() if count > 1} == {*listed[1].split()}


def test_what_the_campaign_reads_is_where_its_list_says() -> None:
    """A reader that has moved fails here, not in the slow tier."""
    assert len(READERS) > 100 and all(callable(one.read) for one in READERS)
