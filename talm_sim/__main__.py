"""`python -m talm_sim`, and the program `talm-sim`: the command line."""

import gc
import signal
import sys


def main() -> int:
    """Run one command; Ctrl-C ends the process without a word while nothing is there yet that could answer it."""
    if (before := signal.getsignal(signal.SIGINT)) is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    from talm_sim.common.garbage import rare_searches

    with rare_searches(first=1_000_000):
        from talm_sim.cli import main as run

        signal.signal(signal.SIGINT, before)
        try:
            return run()
        finally:
            if "torch" not in sys.modules:  # its libraries print a list of what is not freed at the end
                gc.freeze()  # at its end, the interpreter would search all that is there for garbage, which takes a quarter of a second


if __name__ == "__main__":
    sys.exit(main())
