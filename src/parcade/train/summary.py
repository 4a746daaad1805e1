"""What a training came to, in a few lines for a person."""

from __future__ import annotations

from parcade.host.wording import counted, decimal
from parcade.train.evaluation import Evaluation
from parcade.train.events import Finished


def summary_text(finished: Finished) -> str:
    """Return the closing summary; no line but those with paths is longer than 80 characters."""
    result, evaluation = finished.result, finished.evaluation
    workers = counted(finished.n_workers, "worker") if finished.n_workers else "one process"
    over = counted(min(100, result.episodes), "episode")
    lines = [
        "",
        f"  steps        {result.env_steps:,} in {result.seconds:.1f} s ({result.steps_per_s:,.0f} steps/s)",
        f"  games        {counted(finished.n_envs, 'game')} in {workers}",
        f"  episodes     {result.episodes:,} ({result.episodes_per_s:.2f} a second)",
        f"  mean return  {decimal(result.return_mean)} over the last {over}",
    ]
    if result.worker_restarts:
        died = "1 worker was" if result.worker_restarts == 1 else f"{result.worker_restarts} workers were"
        lines.append(f"  restarts     {died} restored after a death, see logs/train.log")
    if evaluation is not None:
        lines += _evaluated(evaluation)
    lines += [
        f"  models       {result.run_dir}/models/",
        "               best_model.zip, final_model.zip",
        f"  report       {result.run_dir}/report.html",
    ]
    if result.interrupted:
        lines.append(f"  go on with   parcade resume {result.run_dir}")
    return "\n".join(lines)


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
        f"  evaluated    return {spread} on {seeds}",
        f"               of {evaluation.env}, by the final model",
        *(
            [f"  crashes      cut {counted(evaluation.cut_episodes, 'episode')} of these"]
            if evaluation.cut_episodes
            else []
        ),
    ]
