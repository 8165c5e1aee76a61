"""What runs inside the sandbox: it limits itself, says that the walls stand, then makes one call of a tool's code, or several.

It is run as a script and imports nothing of this package. Each answer is a line. With `stays`, the function that the order names returns
another one, which each further line of the input calls with its arguments.
"""

import json
import os
import resource
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:  # importing it takes a tenth of a call
    from collections.abc import Callable
    from typing import Any

_ORDER, _ANSWER = 0, 3


def main() -> None:
    """Read the order, and obey it."""
    order = json.loads(_line())
    os.setsid()
    os.environ.pop("PWD", None)
    os.dup2(1, _ANSWER)
    nothing = os.open("/dev/null", os.O_RDWR)
    for number in (1, 2) if order["stays"] else (_ORDER, 1, 2):
        os.dup2(nothing, number)
    os.closerange(_ANSWER + 1, os.sysconf("SC_OPEN_MAX"))
    for name, most in order["limits"].items():
        kind = getattr(resource, f"RLIMIT_{name}")
        allowed = min(most, resource.getrlimit(kind)[1] & sys.maxsize)  # -1 is no limit
        resource.setrlimit(kind, (allowed, allowed))
    sys.path += order["sites"]
    _write(b"\0")
    stays: list[Any] = []
    _write(_answer(lambda: stays.append(_call_code(order)) if order["stays"] else _call_code(order), order))
    while stays:
        _write(_answer(lambda: stays[0](**json.loads(_line())), order))
    os._exit(0)  # and with it any threads that the code started


def _line() -> bytes:
    read = b""
    while not read.endswith(b"\n"):
        more = os.read(_ORDER, 1 << 20)
        if not more:
            os._exit(1)
        read += more
    return read


def _write(said: bytes) -> None:
    while said:
        said = said[os.write(_ANSWER, said) :]


def _answer(call: "Callable[[], object]", order: "dict[str, Any]") -> bytes:
    try:
        return json.dumps({"value": call()}).encode() + b"\n"
    except MemoryError:
        error = f"MemoryError: it wanted more than {order['limits']['AS'] >> 20:,} MiB"
    except BaseException as err:  # anybody's code, which may also exit
        error = f"{type(err).__name__}: {_text_of(err)}"
    return json.dumps({"error": error}).encode() + b"\n"


def _text_of(err: BaseException) -> str:
    try:
        return " ".join(str(err).split())[:400]
    except BaseException:  # the code's own
        return "its text cannot be had"


def _call_code(order: "dict[str, Any]") -> object:
    module = sys.modules["api"] = type(sys)("api")  # it can be found again by name, as `dataclass` and `pickle` do
    module.__file__ = order["code"]
    sys.path.insert(0, os.path.dirname(order["code"]))
    with open(order["code"], encoding="utf-8") as file:
        exec(compile(file.read(), order["code"], "exec", dont_inherit=True), vars(module))
    return vars(module)[order["function"]](**order["arguments"])


if __name__ == "__main__":
    main()
