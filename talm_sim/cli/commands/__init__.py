"""One module for each command of `talm-sim`; each exports `command` and imports the machinery of episodes only when it is called."""
