"""What a search means, in words: how many games to use, why, and why more of something brings nothing."""

from __future__ import annotations

from parcade.host.wording import counted
from parcade.tune.rows import MARGIN, Row, is_better
from parcade.tune.search import Found

QUIET = 0.85  # of what the games wanted of the cores; with less, others were at work
LEARNER, EMULATOR = "learner-bound", "emulator-bound"


def bound_of(found: Found) -> str:
    """Return what most of the time is spent on."""
    return LEARNER if found.choice.learn_share > 0.5 else EMULATOR


def how_many(found: Found) -> str:
    """Answer how many games to use."""
    choice, default = found.choice, found.default
    rate = f"{choice.steps_per_s:,.0f} steps/s"
    if choice.candidate == default.candidate:
        best = "nothing else was measured" if len(found.rows) == 1 else "nothing beat it by more than the noise"
        return f"Use the default, {choice.candidate.words}: {rate}; {best} ({noise(found):.0%} here)."
    return (
        f"Use {choice.candidate.words}: {rate}, {found.over_default:.2f} x the default ({default.candidate.words}, "
        f"{default.steps_per_s:,.0f} steps/s)."
    )


def passed_over(found: Found) -> list[str]:
    """Say of each row that showed more than the choice why it was not chosen."""
    shown = max(found.over_default, 1 + MARGIN)  # less than that beside the default is no difference
    rows = [row for row in found.rows if row is not found.choice and max(row.over_default, row.once_more or 0) >= shown]
    return [f"{row.candidate.words} showed {row.over_default:.2f} x at first, {_but(row, found)}." for row in rows]


def _but(row: Row, found: Found) -> str:
    """Say what came after a row's first rounds."""
    choice = found.choice
    if row.once_more is None and choice.once_more is None:
        return "but no time was left to measure it once more (--seconds gives more)"
    if row.once_more is None:
        return (
            f"beside {choice.over_default:.2f} x of the choice; {len(row.ratios)} rounds are partly luck: in "
            f"{len(choice.last)} more the choice reached {found.over_default:.2f} x"
        )
    again = f"{row.once_more:.2f} x in {counted(len(row.last), 'more round')}"
    if len(row.last) < 3:
        return f"and {again}, which are too few to judge (--seconds gives more)"
    if not is_better(row.last):
        wins = sum(ratio > 1.0 for ratio in row.last)
        return f"but {again}, faster than the default in {wins} of them: that is noise"
    if row.once_more > found.over_default:
        return f"and {again}, beside {found.over_default:.2f} x of the choice: less than 3 % is no difference"
    return f"but {again}, beside {found.over_default:.2f} x of the choice"


def why(found: Found) -> str:
    """Say what bounds the speed."""
    choice = found.choice
    share = choice.learn_share
    if bound_of(found) == LEARNER:
        told = (
            f"learner-bound: learning takes {share:.0%} of the time, so faster games could save {1 - share:.0%} at "
            "most; a smaller network, fewer n_epochs or a GPU would help"
        )
    else:
        told = (
            f"emulator-bound: playing takes {1 - share:.0%} of the time on {counted(found.cores, 'core')}; more cores "
            f"would help{', or features instead of pixels' if found.draws else ''}"
        )
    limits = {
        "memory": f"the memory ended the search at {choice.total_mb:,.0f} MB",
        "updates": "more games would leave fewer than 10 updates of total_timesteps",
        "time": "the time was over before all was measured; --seconds gives more",
    }
    busy = (
        [f"other programs had the cores {1 - found.got:.0%} of the time: measure again when they are done"]
        if found.got < QUIET
        else []
    )
    return "; ".join([told, *busy, *(limits[name] for name in found.limits)])


def speed_up(found: Found) -> list[str]:
    """Answer why more workers, threads or games bring no more."""
    return [text for text in (_of_workers(found), _of_threads(found), _of_games(found)) if text]


def _of_workers(found: Found) -> str:
    default = found.default.candidate
    rows = [row for row in found.rows if row.candidate._replace(n_workers=default.n_workers) == default]
    if len(rows) < 2:
        return ""
    few, many = rows[0], rows[-1]
    playing, whole = few.play_us / many.play_us, _gain(few, many)
    counts = f"{few.candidate.n_workers} -> {counted(many.candidate.n_workers, 'worker')}"
    rest = f"; learning, {many.learn_share:.0%} of the time then, does not use them" if many.learn_share > 0.1 else ""
    return (
        f"{counts}: playing is {playing:.2f} x as fast, the whole {whole:.2f} x{rest}. More workers than the "
        f"{counted(found.cores, 'core')} would only take turns on them."
    )


def _of_threads(found: Found) -> str:
    rows = [row for row in found.rows if row.candidate[:2] == found.choice.candidate[:2]]
    if len(rows) < 2:
        rows = [row for row in found.rows if row.candidate[:2] == found.default.candidate[:2]]
    if len(rows) < 2:
        return ""
    few, many = rows[0], rows[-1]
    counts = f"{few.candidate.num_threads} -> {counted(many.candidate.num_threads, 'thread')}"
    small = ": minibatches this small only wait for each other's threads" if few.learn_us <= many.learn_us else ""
    return f"{counts}: learning is {few.learn_us / many.learn_us:.2f} x as fast{small}."


def _of_games(found: Found) -> str:
    rows = [row for row in found.rows if row.candidate.n_envs != found.default.candidate.n_envs]
    if not rows:
        return ""
    told = ", ".join(f"{row.candidate.n_envs:,} games {_ratio(row)}" for row in rows)
    return (
        f"Over the default's {found.default.candidate.n_envs:,} games: {told}. Once every core has a game to emulate, "
        "more games only wait; they shorten the pause between rollouts."
    )


def _ratio(row: Row) -> str:
    """Say what a row showed in the rounds that all rows had, and what it came to in the last ones."""
    if row.once_more is None:
        return f"{row.over_default:.2f} x"
    return f"{row.over_default:.2f} x at first ({row.once_more:.2f} x once more)"


def learning(found: Found) -> str:
    """Say what another number of games means for learning."""
    n_envs, usual = found.choice.candidate.n_envs, found.default.candidate.n_envs
    rows, before = found.rollout[n_envs], found.rollout[usual]
    steps = f"n_envs {n_envs:,} x n_steps {rows // n_envs:,} = {rows:,} steps"
    if n_envs == usual:
        return f"A rollout has {steps}. Another n_envs changes that size, and with it what is learned from each step."
    fewer = f"{before:,} before" if rows != before else "as before"
    times = f", so the same total_timesteps hold {before / rows:.2g} x the updates" if rows != before else ""
    return (
        f"A rollout has {steps} ({fewer}){times}. This changes learning too: compare a run of each with "
        "`parcade compare`."
    )


def noise(found: Found) -> float:
    """Return how far the default's turns lay apart, as a share."""
    return found.default.noise


def _gain(few: Row, many: Row) -> float:
    return (few.play_us + few.learn_us) / (many.play_us + many.learn_us)
