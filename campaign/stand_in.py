"""A model server whose answers follow from what it is asked, so that a broken run can be compared with a whole one."""

from __future__ import annotations

import hashlib
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from tests.models.loopback import Answer, Seen, chat_answer, loopback


@dataclass
class Model:
    """A model server on loopback whose answer follows from the request, and what it was asked."""

    queries: tuple[str, ...]
    """One of them stands in a request."""
    url: str = ""
    asked: Counter[str] = field(default_factory=Counter)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def answer(self, seen: Seen) -> Answer:
        text = " ".join(str(message.get("content")) for message in seen.body["messages"])
        query = max((query for query in self.queries if query in text), key=len, default="")
        with self.lock:
            self.asked[query] += 1
        drawn = hashlib.sha256(query.encode()).digest()[0]
        said = ("Pass", "Fail", "Yes", "No")[drawn % 2 + 2 * ("Pass or Fail" not in text)]
        return chat_answer(f"{said}. {drawn}")

    def environment(self) -> dict[str, str]:
        return {"HOST_API_KEY": "k", "HOST_BASE_URL": self.url}


@contextmanager
def serving(model: Model) -> Iterator[Model]:
    with loopback() as server:
        server.reply, model.url = model.answer, f"{server.url}/v1"
        yield model
