"""Check whether a model's calls are the right ones, as the Berkeley Function-Calling Leaderboard (BFCL) does."""

from talm_sim.tasks.refusal.call_checks.all_calls import check_calls
from talm_sim.tasks.refusal.call_checks.one_call import CallFault, CheckResult

__all__ = ["CallFault", "CheckResult", "check_calls"]
