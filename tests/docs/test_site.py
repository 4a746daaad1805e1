"""The documentation site: every page is on it, it builds without a warning, and it fetches nothing from elsewhere."""

import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"


def listed_pages():
    entries = re.findall(r"```\{toctree\}\n(.*?)```", (DOCS / "index.md").read_text(encoding="utf-8"), re.DOTALL)
    return [line for block in entries for line in block.splitlines() if line and not line.startswith(":")]


def test_every_page_stands_once_in_the_sites_contents():
    pages = {path.stem for path in DOCS.glob("*.md")} - {"index"}
    assert sorted(listed_pages()) == sorted([*pages, "decisions/index"])


def test_every_decision_is_listed():
    text = (DOCS / "decisions" / "index.md").read_text(encoding="utf-8")
    assert [path.name for path in (DOCS / "decisions").glob("0*.md") if f"({path.name})" not in text] == []


class Links(HTMLParser):
    """Collects what a page loads by itself, what it links to, and what can be linked to."""

    def __init__(self):
        super().__init__()
        self.loaded, self.linked, self.anchors = [], [], set()

    def handle_starttag(self, tag, attributes):
        given = dict(attributes)
        self.anchors.update(filter(None, (given.get("id"), given.get("name"))))
        if tag == "a" and given.get("href"):
            self.linked.append(given["href"])
        elif tag == "link" and given.get("rel") in ("stylesheet", "icon", "preload", "preconnect"):
            self.loaded.append(given["href"])
        elif tag in ("script", "img", "iframe", "source", "video") and given.get("src"):
            self.loaded.append(given["src"])


@pytest.mark.long
def test_the_site_builds_without_a_warning_and_all_its_links_lead_somewhere(tmp_path):
    pytest.importorskip("sphinx", reason="needs the extra `docs`")
    site = tmp_path / "site"
    command = [sys.executable, "-m", "sphinx", "-W", "--keep-going", "-q", "-b", "html", "-d", tmp_path / "trees"]
    made = subprocess.run([*command, DOCS, site], capture_output=True, text=True, timeout=280)
    assert made.returncode == 0, made.stderr
    pages = {}
    for path in site.rglob("*.html"):
        pages[path] = Links()
        pages[path].feed(path.read_text(encoding="utf-8"))
    assert len(pages) > 40
    for path, page in pages.items():
        assert [target for target in page.loaded if urlsplit(target).netloc] == [], path.name
        for target in page.linked:
            parts = urlsplit(target)
            if parts.scheme or parts.netloc:
                continue
            there = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            assert there.exists(), f"{path.name} links to {target}"
            if parts.fragment and there in pages:
                assert parts.fragment in pages[there].anchors, f"{path.name} links to {target}"
    for sheet in site.rglob("*.css"):
        assert not re.search(r"url\(\s*['\"]?(?:https?:)?//", sheet.read_text(encoding="utf-8")), sheet.name
