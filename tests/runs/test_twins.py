"""Each plain verb is made from its async one, and looks like a function that is written out to whoever asks."""

from __future__ import annotations

import asyncio
import inspect
import pickle
import pydoc

import pytest

import talm_sim
from talm_sim.runs.api import blocking

SIGNATURES = {
    "run": "(config: 'RunConfig | None' = None, /, *, on_event: 'OnEvent | None' = None, progress: 'bool | None' = None,"
    " ask: 'Ask | None' = None, wait: 'bool' = False, command: 'str' = '', large: 'bool' = False, **options: 'Any') -> 'StoredRun'",
    "resume": "(run: 'StoredRun | Path | str', *, failed: 'Collection[str]' = ('infrastructure_error',), on_event: 'OnEvent | None' = None,"
    " progress: 'bool | None' = None, ask: 'Ask | None' = None, wait: 'bool' = False, **overrides: 'Any') -> 'StoredRun'",
    "judge": "(run: 'StoredRun | Path | str', *, on_event: 'OnEvent | None' = None, progress: 'bool | None' = None, **scoring: 'Any')"
    " -> 'StoredRun'",
    "ablate": "(base: 'RunConfig | None' = None, over: 'Mapping[str, Sequence[Any]] | None' = None, *, name: 'str' = 'ablation',"
    " on_event: 'OnEvent | None' = None, progress: 'bool | None' = None, large: 'bool' = False, **options: 'Any') -> 'Ablation'",
}


@pytest.mark.parametrize("name", SIGNATURES)
def test_a_plain_verb_has_its_own_name_and_the_parameters_and_text_of_the_async_one(name: str) -> None:
    plain, work = getattr(talm_sim, name), getattr(talm_sim, f"{name}_async")
    assert str(inspect.signature(plain)) == str(inspect.signature(work)) == SIGNATURES[name]
    assert plain.__doc__ == work.__doc__
    page = pydoc.plain(pydoc.render_doc(plain))
    head, text = page.split("\n", 3)[2:]
    assert head == f"{name}{SIGNATURES[name]}"
    for parameter in inspect.signature(plain).parameters:
        assert f"{parameter}: " in text
    assert (inspect.iscoroutinefunction(plain), inspect.iscoroutinefunction(work)) == (False, True)
    assert (plain.__name__, plain.__qualname__, plain.__module__) == (name, name, work.__module__)
    assert pickle.loads(pickle.dumps(plain)) is plain


def test_a_plain_function_hands_everything_on_and_returns_or_raises_what_the_async_one_does() -> None:
    async def work_async(one: int, /, *more: int, loud: bool = False, **others: str) -> tuple[object, ...]:
        """Work."""
        await asyncio.sleep(0)
        if loud:
            raise KeyError(one)
        return one, more, others

    work = blocking(work_async)
    assert work(1, 2, 3, name="x") == (1, (2, 3), {"name": "x"})
    with pytest.raises(KeyError):
        work(1, loud=True)
    with pytest.raises(TypeError, match="missing 1 required positional argument: 'one'"):
        work()  # type: ignore[call-arg]
