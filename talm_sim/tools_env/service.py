"""`python -m talm_sim.tools_env.service`: the earlier name of `python -m talm_sim.world`."""

import runpy

if __name__ == "__main__":
    runpy.run_module("talm_sim.world", run_name="__main__", alter_sys=True)
