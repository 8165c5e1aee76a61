"""A run as a whole: batch, store, lease, resume, the human queue, judging, ablation. The only room that writes a run; it prints nothing.

`api` holds the verbs (run, resume, judge), `wiring` puts an episode's parts together, `batch` carries the plan out, `store` commits.
"""
