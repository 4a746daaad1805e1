"""The documentation site: `make docs` builds these pages into build/docs, warnings are errors."""

import re

from sphinx.application import Sphinx

from parcade import __version__

project, author, copyright = "Parcade", "The Parcade authors", "2026, the Parcade authors"
version = release = __version__
extensions = ["myst_parser", "sphinx.ext.autodoc"]
exclude_patterns = ["_build"]

myst_heading_anchors = 4  # [overlap](algorithms.md#overlap), as on GitHub
myst_enable_extensions = ["colon_fence"]
myst_links_external_new_tab = False

highlight_language = "none"
pygments_style, pygments_dark_style = "friendly", "github-dark"

autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_default_options = {"members": True}
python_maximum_signature_line_length = 88

html_theme = "furo"
html_title = f"Parcade {__version__}"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_show_sourcelink = False
html_copy_source = False
html_theme_options = {
    "light_css_variables": {"color-brand-primary": "#1d6b4f", "color-brand-content": "#1d6b4f"},
    "dark_css_variables": {"color-brand-primary": "#63d2a1", "color-brand-content": "#63d2a1"},
    "navigation_with_keys": True,
}


def link_files(app: Sphinx, page: str, source: list[str]) -> None:
    """Offer pages that lie outside docs/ as files: on GitHub their links lead to pages, here they would lead nowhere."""
    source[0] = re.sub(r"\]\((\.\./(?:\.\./)?(?:roms|src)/[^)#]+\.md)\)", r"](path:\1)", source[0])


def setup(app: Sphinx) -> None:
    """Connect what Markdown written for GitHub needs."""
    app.connect("source-read", link_files)
