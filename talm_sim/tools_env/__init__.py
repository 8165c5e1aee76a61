"""What can be done: the environment of an episode, its perturbations, recordings of HTTP traffic, and the live tool service."""
