"""The tools of an episode, from any source; its environment; and the faults that are put into both.

From the lowest layer up:

- `clock.py` is an episode's time, real or virtual
- `styles.py` writes arguments in OpenAPI's styles, `routes.py` a tool's call as an HTTP request
- `restarts.py` says what happens to calls when a service dies
- `extension_keys.py` names what an OpenAPI document says of a tool beyond the standard
- `asking_tools.py` lets a tool ask a person during a call
- `sources/` opens tools of each kind of source
- `perturbations/` are the faults
- `tool_answers.py` writes what the model reads of an answer, `handed_answers.py` gives it to your agent
- `argument_check.py` checks arguments against a tool's schema
- `toolbox.py` holds the tools of a run, each call recorded, replayed or made
- `caller.py` makes single calls outside any episode
- `guarded.py` says which calls wait for a person
- `strikes.py` applies an episode's faults to one call
- `environment.py` is what one episode can reach
- `trial_arguments.py` finds arguments to try a tool with, `trials.py` tries every tool, `health.py` sums up how tools answer
- `samples.py` shows a fault by an example
"""
