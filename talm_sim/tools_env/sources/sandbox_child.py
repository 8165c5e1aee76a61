"""The script in the sandbox: it limits itself, says that the walls stand, then makes one call of a tool's code, or several.

Each line of the input is a call, each answer a line. With `stays`, the first function returns another one, which further lines call.
"""

import json
import os
import resource
import sys
from typing import Any

_LIMITS = {"AS": 1 << 30, "CPU": 10, "FSIZE": 64 << 20, "NOFILE": 64, "MSGQUEUE": 0, "SIGPENDING": 64, "CORE": 0}
_ANSWER = 3


def main() -> None:
    """Obey the command line: `stays` or nothing, and the folders of packages."""
    lines = os.fdopen(0, "rb", closefd=False)
    stays, *sites = sys.argv[1:]
    os.setsid()
    os.environ.pop("PWD", None)
    os.dup2(1, _ANSWER)
    nothing = os.open("/dev/null", os.O_RDWR)
    for number in (1, 2):
        os.dup2(nothing, number)
    os.closerange(_ANSWER + 1, os.sysconf("SC_OPEN_MAX"))
    for name, most in _LIMITS.items():
        resource.setrlimit(getattr(resource, f"RLIMIT_{name}"), (most, most))
    os.write(_ANSWER, b"\0")

    def begin(code: str, function: str, arguments: dict[str, object]) -> object:
        module = sys.modules["api"] = type(sys)("api")  # it can be found again by name, as `dataclass` and `pickle` do
        module.__file__ = code
        sys.path[:] = [os.path.dirname(code), *sys.path, *sites]
        with open(code, encoding="utf-8") as file:
            exec(compile(file.read(), code, "exec"), vars(module))
        return vars(module)[function](**arguments)

    call: Any = begin
    line = lines.readline()
    if not stays:
        os.dup2(1, 0)
    while line:
        try:
            found = call(**json.loads(line))
            if stays and call is begin:
                call, found = found, None
            said = json.dumps({"value": found})
        except BaseException as err:  # anybody's code, which may also exit
            said = json.dumps({"error": f"{type(err).__name__}: {' '.join(str(err).split())[:400]}"})
        os.write(_ANSWER, said.encode() + b"\n")
        line = lines.readline()
    os._exit(0)  # and with it any threads that the code started


if __name__ == "__main__":
    main()
