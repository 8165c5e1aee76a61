"""The command line that is typed: options made of models, arguments that commands share, the task a line is about, completion."""
