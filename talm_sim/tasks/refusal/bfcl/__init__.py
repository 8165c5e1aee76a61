"""Read BFCL's data as scenarios of task `refusal`, from where the user has them: the installed `bfcl-eval` package or a path.

From the lowest layer up:

- `subsets.py` knows the subsets and their faulty rows
- `find_data.py` finds the data and their version
- `rows.py` reads a row, `turn_rows.py` a row with several turns
- `load_rows.py` reads all rows
- `export.py` writes a run as result files for BFCL's own evaluator
"""

from talm_sim.tasks.refusal.bfcl.find_data import data_version, find_package
from talm_sim.tasks.refusal.bfcl.load_rows import load_bfcl
from talm_sim.tasks.refusal.bfcl.subsets import MULTI_TURN, SINGLE_TURN, SUBSETS

__all__ = ["MULTI_TURN", "SINGLE_TURN", "SUBSETS", "data_version", "find_package", "load_bfcl"]
