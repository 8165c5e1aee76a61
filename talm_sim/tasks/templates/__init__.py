"""Write a multiple-choice item for a model (When2Call, section 3.1): the tools, the question, and an option that is a tool call.

A style is one Jinja file with two macros, here or the user's own:

- `prompt(tools, question)`: the text the model continues. A printed tool is its JSON text, unchanged; `tool.name`, `tool.description` and
  `tool.parameters` are its parts.
- `tool_call(name, arguments, text)`: a call in the model's form. `text` is the call as the data has it; each parameter may be left out.

The filter `tojson` writes JSON without escapes, `python` a Python literal with strings in double quotes. A file that says
`{% set in_user_message = true %}` writes only the user's message, and the tokenizer's chat template, where there is one, the rest.
Values are passed as variables: what they hold is never read as Jinja.

From the lowest layer up:

- `template_values.py` is what the macros receive
- `jinja.py` compiles a template file
- `chat_template.py` renders the tokenizer's own chat template
- `template_files.py` finds a template by name or file
"""

from __future__ import annotations

from talm_sim.tasks.templates.chat_template import ChatTemplate, pick
from talm_sim.tasks.templates.jinja import JinjaTemplate, Template
from talm_sim.tasks.templates.template_files import list_templates, load_template

__all__ = ["ChatTemplate", "JinjaTemplate", "Template", "list_templates", "load_template", "pick"]
