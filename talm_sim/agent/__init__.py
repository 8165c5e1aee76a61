"""Who acts: prompts, the LangGraph state machine, and `run_episode`."""
