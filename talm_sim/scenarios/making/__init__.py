"""Making data, whatever it is made for: sources in, outcomes out, a folder that survives being killed, and a person's word on what was made.

    sources -> for each, once: an outcome (rows, what was rejected and why) -> state.jsonl -> items.jsonl, rejected.jsonl, report.json

`options` holds what every making is asked for, `outcome` what goes in and comes out, `state` keeps what was finished, `runner` makes the rest,
`prompts` reads wordings for a writing model, `review` keeps what people say of what was made. What is made, and of what, a task's maker says
(`talm_sim.tasks.makers`).
"""
