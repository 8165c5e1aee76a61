"""Parse the command line: options made from models, arguments that commands share, the task a line is about, completion.

From the lowest layer up:

- `completing.py` completes a word
- `option_errors.py` finds the task a line is about, and explains unknown options
- `lazy.py` imports a command when it is called
- `field_options.py` makes an option from a field
- `shared_arguments.py` has arguments that several commands share
- `options.py` makes a command's options, and reads them
"""
