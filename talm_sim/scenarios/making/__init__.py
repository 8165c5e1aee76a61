"""Make data, whatever it is for: sources in, outcomes out, a folder that survives being killed, and a person's decisions on the result.

    sources -> for each, once: an outcome (rows, what was rejected and why) -> state.jsonl -> items.jsonl, rejected.jsonl, report.json

`options` has the options of every making, `outcome` what goes in and comes out, `state` keeps what was finished, `runner` makes the rest,
`prompts` reads wordings for a writing model, `review` keeps what people say of the result. A task's maker (`talm_sim.tasks.makers`) says
what is made, and of what.
"""
