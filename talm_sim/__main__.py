"""`python -m talm_sim`: the command line."""

import sys

from talm_sim.cli import main

sys.exit(main())
