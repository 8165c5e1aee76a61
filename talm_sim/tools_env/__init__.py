"""What can be done: the environment, its perturbations, recordings and the live tool service."""
