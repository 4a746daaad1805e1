"""An extra installs only packages that the code imports."""

import re
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
# The name to import, where it is not the package's name with underscores.
IMPORTED_AS = {"pygame-ce": "pygame", "llama-cpp-python": "llama_cpp"}


def extras():
    if sys.version_info < (3, 11):
        pytest.skip("tomllib is part of Python 3.11 and later")
    import tomllib

    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    return {name: packages for name, packages in project["optional-dependencies"].items() if name != "dev"}


def package_name(requirement):
    return re.match(r"[A-Za-z0-9_.-]+", requirement).group()


def test_an_extra_installs_only_what_the_code_imports():
    files = [*(ROOT / "src").rglob("*.py"), ROOT / "docs" / "conf.py"]
    source = "\n".join(path.read_text(encoding="utf-8") for path in files)
    packages = {package_name(requirement) for listed in extras().values() for requirement in listed}
    modules = {name: IMPORTED_AS.get(name, name.replace("-", "_")) for name in packages}
    unused = [name for name, module in modules.items() if not re.search(rf"\b{module}\b", source)]
    assert unused == []
