"""Tests of an agent as pytest runs them: the fixture `talm`, and what can be asserted of how the agent behaved."""
