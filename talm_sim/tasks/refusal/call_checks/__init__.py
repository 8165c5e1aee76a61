"""Check whether a model's calls are the right ones, as the Berkeley Function-Calling Leaderboard (BFCL) does.

From the lowest layer up:

- `bfcl_reading.py` reads calls in raw text as BFCL does
- `source_text.py`, `java.py` and `javascript.py` read values from Java's and JavaScript's source text
- `one_call.py` checks one call, `all_calls.py` all calls of an answer
- `calls_judge.py` has the judges `calls` and `calls-bfcl`
- `official.py` has judge `bfcl-official`, the checker of BFCL's package
"""

from talm_sim.tasks.refusal.call_checks.all_calls import check_calls
from talm_sim.tasks.refusal.call_checks.one_call import CallFault, CheckResult

__all__ = ["CallFault", "CheckResult", "check_calls"]
