"""What is said of measurements: which candidate, by how much, and why."""

import xml.etree.ElementTree as ElementTree

from parcade.tune.plot import bars, write_plot
from parcade.tune.report import as_data, write_config
from parcade.tune.rows import Row, chosen, is_better
from parcade.tune.search import Found
from parcade.tune.trial import Candidate, Turn
from parcade.tune.words import how_many, learning, passed_over, speed_up, why

KEYS = ("n_envs", "n_workers", "num_threads", "steps_per_s", "over_default", "why", "table")


def row(candidate, play_s, learn_s, over=1.0):
    found = Row(Candidate(*candidate), total_mb=50.0)
    for _ in range(3):
        turn = Turn(1000, play_s, learn_s)
        found.add(turn, Turn(1000, play_s * over, learn_s * over))
    return found


def again(found, *ratios):
    found.last = list(ratios)
    return found


def made(choice=1, **changes):
    rows = [row((32, 1, 1), 0.40, 0.1, 0.6), row((32, 2, 1), 0.2, 0.1), row((32, 2, 2), 0.2, 0.2, 0.75)]
    rows.append(row((64, 2, 1), 0.15, 0.1, 1.2))
    over = rows[choice].over_default
    return Found(rows[1], rows[choice], over, rows, 2, None, rollout={32: 4096, 64: 8192}, **changes)


def test_a_better_number_is_recommended_with_what_it_means_for_learning():
    found = made(choice=3)
    assert how_many(found) == (
        "Use 64 games, 2 workers, 1 thread: 4,000 steps/s, 1.20 x the default (32 games, 2 workers, 1 thread, "
        "3,333 steps/s)."
    )
    assert "64 x n_steps 128 = 8,192 steps (4,096 before), so the same total_timesteps hold 0.5 x" in learning(found)


def test_the_default_is_said_to_be_best():
    assert how_many(made()).startswith("Use the default, 32 games, 2 workers, 1 thread: 3,333 steps/s; nothing beat it")


def test_no_speed_up_is_explained():
    workers, threads, games = speed_up(made())
    assert "1 -> 2 workers: playing is 2.00 x as fast, the whole 1.67 x; learning, 33% of the time then" in workers
    assert "1 -> 2 threads: learning is 0.50 x as fast: minibatches this small" in threads
    assert "64 games 1.20 x" in games


def test_games_are_compared_by_the_same_rounds():
    found = made(choice=3)
    again(found.rows[3], 1.1, 1.1, 1.1)
    found.over_default = 1.1
    assert "64 games 1.20 x at first (1.10 x once more)" in speed_up(found)[2]


def test_why_names_what_bounds():
    assert why(made()).startswith("emulator-bound: playing takes 67% of the time on 2 cores")
    assert "features instead of pixels" not in why(made())
    assert "more cores would help, or features instead of pixels" in why(made(draws=True))
    slow = made()
    slow.choice = row((32, 2, 1), 0.1, 0.9)
    assert why(slow).startswith("learner-bound: learning takes 90% of the time")
    assert "the memory ended the search" in why(made(limits=["memory"]))
    assert "other programs had the cores 40% of the time" in why(made(got=0.6))


def test_noise_is_no_gain():
    assert is_better([1.10, 1.12, 1.08, 1.11])
    assert not is_better([1.02, 1.02, 1.02, 1.02])  # less than 3 %
    assert not is_better([1.3, 0.9, 1.2, 0.8, 1.1])  # too often slower
    assert not is_better([1.5, 1.5])  # too few rounds


def test_the_faster_in_the_last_rounds_is_chosen_whatever_the_first_showed():
    default, games, more = row((32, 2, 1), 0.2, 0.1), row((64, 2, 1), 1, 1, 1.27), row((128, 2, 1), 1, 1, 1.29)
    assert chosen(default, [again(games, *[1.18] * 12), again(more, *[1.29] * 12)]) is more
    assert chosen(default, [again(games, *[1.18] * 12), again(more, *[1.20] * 12)]) is games  # less than 3 %
    assert chosen(default, [again(games, *[1.02] * 12), again(more, *[0.9, 1.2] * 6)]) is default
    threads = row((32, 2, 2), 1, 1, 1.2)
    assert chosen(default, [again(games, *[1.18] * 12), again(threads, *[1.17] * 12)]) is threads  # the same games


def test_a_row_that_showed_more_than_the_choice_is_explained():
    default, games, more = row((32, 2, 1), 0.2, 0.1), row((64, 2, 1), 1, 1, 1.25), row((128, 2, 1), 1, 1, 1.29)

    def told(last, choice=games, over=1.18):
        again(more, *last)
        return passed_over(Found(default, choice, over, [default, games, more], 2, None))

    again(games, *[1.18] * 12)
    head = "128 games, 2 workers, 1 thread showed 1.29 x at first, "
    assert told([1.1] * 12) == [f"{head}but 1.10 x in 12 more rounds, beside 1.18 x of the choice."]
    (close,) = told([1.2] * 12)
    assert close.endswith("and 1.20 x in 12 more rounds, beside 1.18 x of the choice: less than 3 % is no difference.")
    (unmeasured,) = told([])
    assert "at first, beside 1.25 x of the choice; 3 rounds are partly luck" in unmeasured
    assert "in 12 more the choice reached 1.18 x" in unmeasured
    again(games)
    lucky, noisy = told([0.9, 1.2] * 6, choice=default, over=1.0)
    assert lucky.startswith("64 games")
    assert "no time was left" in lucky
    assert noisy == f"{head}but 1.05 x in 12 more rounds, faster than the default in 6 of them: that is noise."
    assert passed_over(made(choice=3)) == []


def test_plain_data_bars_picture_and_config(tmp_path):
    found = made(choice=3)
    data = as_data(found)
    assert all(key in data for key in KEYS)
    assert (data["n_envs"], data["over_default"], data["is_default"]) == (64, found.over_default, False)
    lines = bars(found)
    assert "32 x 2 x 1 (default)" in lines[1]
    assert "64 x 2 x 1 (choice)" in lines[3]
    assert lines[3].count("█") == 40
    write_plot(str(tmp_path / "plot.svg"), found)
    drawn = ElementTree.parse(tmp_path / "plot.svg").getroot()
    assert len(drawn.findall("{*}rect")) == 1 + 2 * len(found.rows)
    write_config(str(tmp_path / "best.yaml"), {"game": "lantern", "n_envs": "auto", "hidden": (64, 64)}, found)
    from parcade.train.given import settings_of_file

    settings = settings_of_file(str(tmp_path / "best.yaml"), {})
    assert (settings.n_envs, settings.n_workers, settings.num_threads) == (64, 2, 1)
    assert (settings.game, settings.hidden) == ("lantern", (64, 64))
