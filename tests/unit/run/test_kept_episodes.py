"""Which episodes are kept, how much room they take, and what a resumed run finds."""

import json
import random
from itertools import islice

import numpy as np
import pytest

from parcade.errors import EpisodeFileError, ModelFileError
from parcade.run.episodes import EpisodeOrigin, EpisodeRecord, read_episodes
from parcade.run.kept_choice import MOST, Candidate, KeptChoice
from parcade.run.kept_episodes import KeptEpisodes, file_name, read_index

ORIGIN = EpisodeOrigin(env={"game": "lantern"}, parcade="0.1.0")
MILESTONES = {"success": "success", "key": "milestone_key"}


def candidate(number, total=0.0, from_true_start=True, **metrics):
    return Candidate(number, total, metrics, from_true_start)


def test_best_and_worst_are_what_sorting_everything_gives():
    chance = random.Random(1)
    returns = {number: chance.choice(range(40)) / 4 for number in range(1, 301)}
    choice, numbers = KeptChoice({}), iter(returns)
    for size in (1, 0, 40, 3, 200, 56):
        choice.offer([candidate(number, returns[number]) for number in islice(numbers, size)])
    by_worth = sorted(returns, key=lambda number: (-returns[number], number))
    assert choice.kinds["best"] == by_worth[: MOST["best"]]
    by_badness = sorted(returns, key=lambda number: (returns[number], number))
    assert choice.kinds["worst"] == by_badness[: MOST["worst"]]
    assert choice.kinds["newest"] == list(range(300, 300 - MOST["newest"], -1))


def test_the_first_to_reach_something_is_kept():
    choice = KeptChoice(MILESTONES)
    choice.offer([candidate(1), candidate(2, milestone_key=1.0), candidate(3, success=1.0, milestone_key=1.0)])
    choice.offer([candidate(4, success=1.0)])
    assert choice.reached == {"key": 2, "success": 3}
    assert choice.kinds["first"] == [3, 2]
    assert choice.milestones_of(3) == ["success"]


def test_an_episode_from_another_start_is_no_record():
    choice = KeptChoice(MILESTONES)
    choice.offer(
        [candidate(1, 1.0), candidate(2, 99.0, from_true_start=False, success=1.0), candidate(3, -99.0, False)]
    )
    assert choice.kinds == {"newest": [3, 2, 1], "best": [1], "worst": [1], "first": [2]}


def taken(number, total=0.0, length=10):
    actions = {"obs": np.full(length, number % 5, np.uint8)}
    return EpisodeRecord(ORIGIN, number, actions, length, total, True, False, {"success": 0.0}, number=number)


def offer(kept, numbers, length=10, total=lambda number: float(number)):
    kept.offer([candidate(n, total(n)) for n in numbers], lambda n: taken(n, total(n), length))


def files(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_the_folder_holds_what_the_index_says(tmp_path):
    kept = KeptEpisodes(tmp_path / "episodes", 1, MILESTONES)
    offer(kept, range(1, 101))
    kept.close()
    index = read_index(tmp_path / "episodes")
    numbers = {*range(1, 17), *range(85, 101)}
    assert set(index.facts) == numbers
    assert set(files(tmp_path / "episodes")) == {"index.json", *map(file_name, numbers)}
    assert index.kinds["best"][0] == index.kinds["newest"][0] == 100
    assert index.load(100).total_reward == 100.0
    assert index.facts[1]["kinds"] == ["worst"]


def test_nothing_is_kept_where_nothing_may_be(tmp_path):
    kept = KeptEpisodes(tmp_path / "episodes", 0, {})
    offer(kept, range(5))
    kept.close()
    assert not (tmp_path / "episodes").exists()
    with pytest.raises(EpisodeFileError, match="holds no kept episodes"):
        read_index(tmp_path / "episodes")


@pytest.mark.parametrize("length", [100, 20_000, 100_000, 300_000])
def test_all_kinds_together_stay_within_the_room(tmp_path, length):
    kept = KeptEpisodes(tmp_path, 1, {})
    for first in range(1, 200, 20):
        offer(kept, range(first, first + 20), length, total=lambda number: number * 7 % 101)
    kept.close()
    assert sum(len(data) for data in files(tmp_path).values()) <= 1_000_000
    index = read_index(tmp_path)
    assert (index.kinds["newest"][:1] == [200]) == (length < 250_000)  # one that is larger than its share is left out


def test_a_giant_does_not_drive_out_the_others(tmp_path):
    kept = KeptEpisodes(tmp_path, 1, {})
    offer(kept, range(1, 5))
    offer(kept, [5], length=900_000)
    assert kept.index()["kinds"]["newest"] == [4, 3, 2, 1]


def interrupted(tmp_path, flushes, killed_after):
    """Play 12 updates with a checkpoint after each third; die, and go on from the newest checkpoint."""
    tmp_path.mkdir()
    folder = tmp_path / "episodes"
    total = lambda number: number * 37 % 101  # noqa: E731

    def update(kept, number):
        offer(kept, range(10 * number + 1, 10 * number + 11), total=total)
        if flushes(number):
            kept.flush()
        if number % 3 == 2:
            state = kept.state()
            kept.saved()
            return state
        return None

    kept, state, saved_at = KeptEpisodes(folder, 1, MILESTONES), (None, {}), 0
    for number in range(killed_after):
        found = update(kept, number)
        state, saved_at = (found, number + 1) if found else (state, saved_at)
    if killed_after < 12:
        kept = KeptEpisodes(folder, 1, MILESTONES)
        kept.check(state[0])
        kept.load(*state)
        for number in range(saved_at, 12):
            update(kept, number)
    kept.close()
    return files(folder)


@pytest.fixture(scope="module")
def unbroken(tmp_path_factory):
    return interrupted(tmp_path_factory.mktemp("run") / "a", lambda number: number == 4, 12)


@pytest.mark.parametrize("killed_after", [1, 4, 8])
def test_a_resumed_run_has_the_folder_of_an_unbroken_one(tmp_path, unbroken, killed_after, caplog):
    assert interrupted(tmp_path / "b", lambda number: number % 5 == 1, killed_after) == unbroken
    assert not caplog.records  # everything a checkpoint names was there


def test_a_lost_or_foreign_file_is_named_and_the_rest_kept(tmp_path, caplog):
    kept = KeptEpisodes(tmp_path, 1, {})
    offer(kept, [1, 2, 3])
    kept.close()
    state = kept.state()
    (tmp_path / file_name(1)).write_bytes(b"")
    (tmp_path / file_name(2)).write_bytes((tmp_path / file_name(3)).read_bytes())
    again = KeptEpisodes(tmp_path, 1, {})
    again.load(*state)
    assert set(read_index(tmp_path).facts) == {3}
    assert [record.message.partition(":")[0] for record in caplog.records] == ["a kept episode is lost"] * 2
    assert read_episodes(tmp_path / file_name(3))[0].number == 3
    assert not (tmp_path / file_name(1)).exists()


def test_what_no_checkpoint_can_hold_is_refused():
    for state in ([], {"kinds": {}}, {"kinds": {"newest": 3}, "reached": {}}, {**KeptChoice({}).state(), "reached": 1}):
        with pytest.raises(ModelFileError, match="list of kept episodes"):
            KeptEpisodes.check(state)


def test_a_damaged_index_is_one_sentence(tmp_path):
    for text in (
        "",
        "[]",
        '{"kinds": 1}',
        '{"format":1,"kinds":{"newest":[],"best":[],"worst":[],"first":[]},"reached":{}}',
    ):
        (tmp_path / "index.json").write_text(text)
        with pytest.raises(EpisodeFileError, match=r"index\.json cannot be read"):
            read_index(tmp_path)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *(("kinds", value) for value in ([{}], "newest", ["evil"], ["newest", None], 7)),
        *(("first", value) for value in ([1], None, {"a": 1})),
        *(("number", value) for value in (None, 0, -1, "1", True, 10**400)),
        *(("total_reward", value) for value in ("x", None, 10**400, [1])),
        *(
            ("slot", "x"),
            ("env_steps", []),
            ("length", -1),
            ("seed", 0.5),
            ("terminated", 1),
            ("metrics", {"a": "x"}),
        ),
    ],
)
def test_an_index_with_a_wrong_row_is_one_sentence(tmp_path, name, value):
    kept = KeptEpisodes(tmp_path, 1, {})
    offer(kept, [1, 2])
    kept.close()
    index = json.loads((tmp_path / "index.json").read_text())
    assert set(read_index(tmp_path).facts) == {1, 2}
    index["episodes"][0][name] = value
    (tmp_path / "index.json").write_text(json.dumps(index))
    with pytest.raises(EpisodeFileError, match=r"index\.json cannot be read"):
        read_index(tmp_path)


def test_a_folder_that_cannot_be_written_costs_nothing_else(tmp_path, caplog):
    folder = tmp_path / "episodes"
    folder.write_text("a file where the folder should be")
    kept = KeptEpisodes(folder, 1, {})
    offer(kept, [1, 2])
    kept.flush()
    assert [record.message.partition(" (")[0] for record in caplog.records] == [
        f"the episodes of {folder} cannot be written"
    ]
    state = kept.state()
    folder.unlink()
    kept.close()  # there is room again
    assert set(read_index(folder).facts) == {1, 2}
    again = KeptEpisodes(tmp_path / "other", 1, {})
    again.load(*state)  # what had no file yet was in the checkpoint
    again.close()
    assert files(folder) == files(tmp_path / "other")
