"""Draw milestones over the steps of a run from its metrics.jsonl.

.venv/bin/python tools/plot_milestones.py RUN_FOLDER OUT.png left_house first_victory town badge
"""

from __future__ import annotations

import json
import sys
from pathlib import Path


def main(run: str, out: str, names: list[str]) -> None:
    """Draw one curve for each of ``names``; the values are means over the last 100 episodes."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    rows = [json.loads(line) for line in (Path(run) / "metrics.jsonl").read_text(encoding="utf-8").splitlines()]
    rows = [row for row in rows if row.get("episodes") and "game" in row]
    figure, axes = pyplot.subplots(figsize=(7, 3.2), dpi=110)
    for name in names:
        steps = [row["env_steps"] for row in rows]
        axes.plot(steps, [row["game"][name] for row in rows], label=name.removeprefix("milestone_").replace("_", " "))
    axes.set(xlabel="env steps", ylabel="share of the last 100 episodes", ylim=(-0.03, 1.03), xlim=(0, None))
    axes.xaxis.set_major_formatter(lambda value, _: f"{value / 1e6:g} M" if value else "0")
    axes.grid(alpha=0.3)
    axes.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=len(names), frameon=False)
    figure.tight_layout()
    figure.savefig(out)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], sys.argv[3:])
