"""The person whom an agent asks, where a model or a rule plays them: what they know, how they speak, and what they get wrong."""
