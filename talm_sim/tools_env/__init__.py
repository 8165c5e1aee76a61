"""What an episode can do: its environment, perturbations, recordings of HTTP traffic, and the live tool service."""
