"""`python -m talm_sim.world`: serve until interrupted; prints the base address on standard output when it takes calls."""

import argparse
import sys

from talm_sim.errors import PrerequisiteError
from talm_sim.world.serve import serve


def main() -> int:
    """Parse arguments and serve; a port that cannot be had is one line on standard error and exit code 2."""
    parser = argparse.ArgumentParser(prog="python -m talm_sim.world", description="Serve the tools on loopback.")
    parser.add_argument("--port", type=int, default=0, help="port to listen on; 0 (the default) picks a free one")
    parser.add_argument("--until-stdin-closes", action="store_true", help="stop when standard input ends")
    options = parser.parse_args()
    try:
        serve(options.port, on_ready=lambda url: print(url, flush=True), until_stdin_closes=options.until_stdin_closes)
    except PrerequisiteError as err:
        print(err, file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
