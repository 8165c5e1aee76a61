"""The user's own agent in place of our graph: a compiled LangGraph graph, a function, or a function that builds one of them."""
