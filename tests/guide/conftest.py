"""Tests with the small model: `make test-guide` installs it. Elsewhere they are not collected by default."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "contract"))  # llm_support, coach_support
