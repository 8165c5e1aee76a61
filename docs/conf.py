"""Settings of the documentation's site: `sh scripts/docs.sh` builds it, and fails if anything in it cannot be resolved."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import talm_sim

sys.path.insert(0, str(Path(__file__).parent))

project = "talm-sim"
version = release = talm_sim.__version__
extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx.ext.viewcode",
    "_site.command_line",
    "_site.formats",
    "_site.python_names",
    "_site.repository",
]
exclude_patterns = ["_site"]
nitpicky = True

myst_heading_anchors = 4  # as a repository page has them
myst_enable_extensions = ["colon_fence"]

# Docstrings are written as Markdown's readers expect: a single backtick is code.
default_role = "code"
autodoc_member_order = "bysource"
autodoc_typehints_format = "short"
autodoc_type_aliases = {"OnEvent": "talm_sim.runs.events.OnEvent", "Ask": "talm_sim.runs.batch.Ask"}
autodoc_default_options = {"members": True, "undoc-members": True}
python_use_unqualified_type_names = True
maximum_signature_line_length = 100
napoleon_numpy_docstring = False
napoleon_use_rtype = False
add_module_names = False
toc_object_entries_show_parents = "hide"

html_theme = "furo"
html_title = f"talm-sim {version}"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_copy_source = False
html_show_copyright = False
html_theme_options = {"top_of_page_buttons": []}
pygments_style = "a11y-high-contrast-light"
pygments_dark_style = "a11y-high-contrast-dark"


def leave_out_missing(app: Any, page: str, source: list[str]) -> None:
    """Leave out of the tree the pages that are not written yet; once one is there, it is placed."""
    for name in ("page",) if page == "index" else ():
        if not (Path(app.srcdir) / f"{name}.md").exists():
            source[0] = source[0].replace(f"\n{name}\n", "\n")


def setup(app: Any) -> None:
    """Connect what belongs to the index."""
    app.connect("source-read", leave_out_missing)
