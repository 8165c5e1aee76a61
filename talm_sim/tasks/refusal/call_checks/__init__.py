"""Check whether a model's calls are the right ones, as the Berkeley Function-Calling Leaderboard (BFCL) does."""

from talm_sim.tasks.refusal.call_checks.arguments import CallFault, CheckResult
from talm_sim.tasks.refusal.call_checks.calls import check_calls

__all__ = ["CallFault", "CheckResult", "check_calls"]
