"""An agent of the user's own in place of our graph: a compiled LangGraph graph, a function, or what builds one of them."""
