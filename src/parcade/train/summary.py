"""What a training came to, in a few lines for a person."""

from __future__ import annotations

from collections.abc import Mapping
from textwrap import wrap
from typing import Any

from parcade.host.wording import counted, decimal
from parcade.train.evaluation import Evaluation
from parcade.train.events import Finished

_INDENT = " " * 15


def summary_text(finished: Finished) -> str:
    """Return the closing summary; no line but those with paths is longer than 80 characters."""
    result, evaluation = finished.result, finished.evaluation
    workers = counted(finished.n_workers, "worker") if finished.n_workers else "one process"
    lines = [
        "",
        f"  steps        {result.env_steps:,} in {result.seconds:.1f} s ({result.steps_per_s:,.0f} steps/s)",
        f"  games        {counted(finished.n_envs, 'game')} in {workers}",
        f"  episodes     {result.episodes:,} ({result.episodes_per_s:.2f} a second)",
    ]
    if finished.dropped_steps:
        steps = counted(finished.dropped_steps, "step")
        lines.insert(2, f"{_INDENT}{steps} of an unfinished rollout were dropped")
    if result.return_mean is not None:
        over = counted(min(100, result.episodes), "episode")
        lines.append(f"  mean return  {decimal(result.return_mean)} over the last {over}")
    if evaluation is None:
        lines += _reached({name: share for name, share in result.milestones.items() if share is not None})
    if result.worker_restarts:
        died = "1 worker was" if result.worker_restarts == 1 else f"{result.worker_restarts} workers were"
        lines.append(f"  restarts     {died} restored after a death, see logs/train.log")
    if evaluation is not None:
        lines += _evaluated(evaluation)
    elif finished.evaluation_failed:
        lines += _in_lines("evaluated", f"no: it failed ({finished.evaluation_failed})")
    lines += [
        f"  models       {result.run_dir}/models/",
        "               best_model.zip, final_model.zip",
        f"  report       {result.run_dir}/report.html",
    ]
    if result.interrupted:
        lines.append(f"  go on with   {finished.resume_command}")
    return "\n".join(lines)


def _reached(shares: Mapping[str, float]) -> list[str]:
    """Return the share of episodes that reached each milestone, in lines of 80 characters."""
    told = [f"{name.replace('_', ' ')} {share:.2f}" for name, share in shares.items()]
    return _in_lines("milestones", ", ".join(told)) if told else []


def _in_lines(name: str, text: str) -> list[str]:
    lines = wrap(text, 80 - len(_INDENT), break_long_words=False)
    return [f"  {name:<13}{lines[0]}", *(f"{_INDENT}{line}" for line in lines[1:])]


def _evaluated(evaluation: Evaluation) -> list[str]:
    played = len(evaluation.episodes)
    seeds = counted(played, "unseen seed")
    if played < evaluation.wanted:
        seeds += f" (of {evaluation.wanted:,})"
    lines = []
    if evaluation.success_rate is not None:
        lines.append(f"  success      {evaluation.success_rate:.2f} on {seeds}")
    spread = f"{evaluation.return_mean:.2f} ± {evaluation.return_std:.2f}"
    return [
        *lines,
        *_reached(evaluation.shares),
        f"  evaluated    return {spread} on {seeds}",
        f"               of {evaluation.env}, by the final model",
        *(
            [f"  crashed      {counted(evaluation.cut_episodes, 'episode')}, left out"]
            if evaluation.cut_episodes
            else []
        ),
    ]


def fact_line(row: dict[str, Any]) -> str:
    """Return a row of metrics as a line of the log."""
    facts = {"update": row["update"], "env_steps": row["env_steps"], "episodes": row["episodes"]}
    facts |= {"steps_per_s": round(row["time"]["steps_per_s"])}
    facts |= {name: row[name] for name in ("return_mean", "success_rate") if row[name] is not None}
    return " ".join(f"{k}={v:.3f}" if isinstance(v, float) else f"{k}={v}" for k, v in facts.items())
