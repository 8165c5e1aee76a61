"""The script in the sandbox: it limits itself, says that the walls stand, then makes one call of a tool's code, or several.

Each answer is a line. With `stays`, the function that the order names returns another one, which each further line of the input calls.
"""

import json
import os
import resource
import sys
from collections.abc import Callable

_ANSWER = 3


def main() -> None:
    """Read the order, and obey it."""
    lines, said = os.fdopen(0, "rb", closefd=False), os.fdopen(os.dup2(1, _ANSWER), "wb")
    order = json.loads(lines.readline() or os._exit(1))
    os.setsid()
    os.environ.pop("PWD", None)
    nothing = os.open("/dev/null", os.O_RDWR)
    for number in (1, 2) if order["stays"] else (0, 1, 2):
        os.dup2(nothing, number)
    os.closerange(_ANSWER + 1, os.sysconf("SC_OPEN_MAX"))
    for name, most in order["limits"].items():
        kind = getattr(resource, f"RLIMIT_{name}")
        allowed = min(most, resource.getrlimit(kind)[1] & sys.maxsize)  # -1 is no limit
        resource.setrlimit(kind, (allowed, allowed))
    sys.path += order["sites"]
    said.write(b"\0")
    said.flush()

    def call_code() -> object:
        module = sys.modules["api"] = type(sys)("api")  # it can be found again by name, as `dataclass` and `pickle` do
        module.__file__ = order["code"]
        sys.path.insert(0, os.path.dirname(order["code"]))
        with open(order["code"], encoding="utf-8") as file:
            exec(compile(file.read(), order["code"], "exec", dont_inherit=True), vars(module))
        found = vars(module)[order["function"]](**order["arguments"])
        if order["stays"]:
            kept.append(found)
        return None if order["stays"] else found

    kept: list[Callable[..., object]] = []
    said.write(_answer(call_code))
    said.flush()
    while kept:
        said.write(_answer(lambda: kept[0](**json.loads(lines.readline() or os._exit(1)))))
        said.flush()
    os._exit(0)  # and with it any threads that the code started


def _answer(call: Callable[[], object]) -> bytes:
    try:
        return json.dumps({"value": call()}).encode() + b"\n"
    except MemoryError:
        error = f"MemoryError: it wanted more than {resource.getrlimit(resource.RLIMIT_AS)[1] >> 20:,} MiB"
    except BaseException as err:  # anybody's code, which may also exit
        error = f"{type(err).__name__}: {_text_of(err)}"
    return json.dumps({"error": error}).encode() + b"\n"


def _text_of(err: object) -> str:
    try:
        return " ".join(str(err).split())[:400]
    except BaseException:  # the code's own
        return "its text cannot be had"


if __name__ == "__main__":
    main()
