"""What an episode was worth: one judge a file, the metrics over their verdicts, and the intervals.

A judge sees an episode and its scenario, never a running agent, so a stored run can be judged again offline.
"""
