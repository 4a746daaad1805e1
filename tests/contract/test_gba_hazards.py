"""Each hazard of mGBA's bindings: the fault without the guard, its absence with it; docs/mgba.md tells the causes."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip(
    "mgba", reason="mGBA cannot be loaded: it needs the mgba wheel and libmgba.so.0.10", exc_type=ImportError
)

CHILDREN = Path(__file__).parent / "mgba_hazards" / "children.py"
SOURCE = Path(__file__).parents[2] / "src"
DEADLINE_S = 60.0


def child(name: str, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    paths = os.pathsep.join(filter(None, (str(SOURCE), os.environ.get("PYTHONPATH"))))
    return subprocess.run(
        [sys.executable, str(CHILDREN), name, *arguments],
        env={**os.environ, "PYTHONPATH": paths, **environment},
        capture_output=True,
        text=True,
        timeout=DEADLINE_S,
        check=False,
    )


def answer(name: str, *arguments: str, **environment: str) -> Any:
    done = child(name, *arguments, **environment)
    assert done.returncode == 0, f"{name} ended with {done.returncode}: {done.stderr[-2000:]}"
    return json.loads(done.stdout.splitlines()[-1])


def test_callbacks_the_bindings_leave_three_pointers_as_the_heap_had_them() -> None:
    assert set(answer("bare_callback_pointers").values()) == {0x4141414141414141}


def test_callbacks_a_game_that_saves_jumps_through_them() -> None:
    assert child("bare_callback_crash").returncode == -signal.SIGSEGV
    assert answer("bare_callback_crash", "cleared") == {"alive": True}


def test_callbacks_ours_registers_none() -> None:
    assert answer("ours_callbacks") == {"alive": True, "callbacks": [0, 0], "writes": [2, 2]}


def test_save_file_two_cores_of_the_bindings_share_one(tmp_path: Path) -> None:
    assert answer("bare_shared_save", str(tmp_path)) == {"tags": ["B", "B"], "files": ["game.gba", "game.sav"]}


def test_save_file_ours_is_private_and_leaves_no_file(tmp_path: Path) -> None:
    assert answer("ours_private_save", str(tmp_path)) == {"tags": ["A", "B"], "files": ["game.gba"]}


def test_video_buffer_the_bindings_draw_into_freed_memory() -> None:
    done = child("bare_video_buffer")
    died = done.returncode == -signal.SIGSEGV
    assert died or json.loads(done.stdout.splitlines()[-1])["overwritten"] > 0


def test_video_buffer_ours_lives_as_long_as_anyone_looks() -> None:
    assert answer("ours_video_buffer") == {"overwritten": 0, "drawn": True}


def test_vfile_the_bindings_close_it_under_the_core_and_the_core_again() -> None:
    bare, claimed = answer("bare_vfile"), answer("bare_vfile", "claimed")
    assert (bare["under the core"], bare["in all"]) == (1, 2)
    assert (claimed["under the core"], claimed["in all"]) == (0, 1)


def test_vfile_ours_is_closed_once_and_no_descriptor_is_left() -> None:
    assert answer("ours_vfile") == {"under the core": 0, "in all": 1}
    assert answer("ours_file_descriptors") == {"left open": 0}


def test_logger_the_bindings_call_python_per_line_and_may_free_the_one_in_use() -> None:
    assert answer("bare_logger_lines")["calls into Python"] >= 100
    assert answer("bare_logger_swap") == {"freed while in use": True}


def test_logger_ours_is_one_silent_native_one() -> None:
    done = child("ours_logger")
    assert done.stdout.splitlines() == [json.dumps({"loggers": 1, "python function": False})]
    assert done.stderr == ""


def test_clock_the_bindings_read_the_hosts() -> None:
    bare = answer("bare_clock")
    assert bare["clock"] in bare["host"]


@pytest.mark.parametrize("zone", ["UTC0", "JST-9", "EST5EDT"])
def test_clock_ours_is_fixed_in_every_time_zone_and_runs_with_the_frames(zone: str) -> None:
    year_month_day_weekday, hms, ten_seconds_later = "01090900", "014640", "014650"
    ours = answer("ours_clock", TZ=zone)
    assert ours["clocks"] == [year_month_day_weekday + hms, year_month_day_weekday + ten_seconds_later]
    assert ours["later"] == "04110902" + "113320"


def test_leak_the_bindings_lose_memory_with_every_core_and_ours_does_not() -> None:
    bare, ours = answer("bare_leak"), answer("ours_leak")
    assert bare["bytes per core"] > 500
    assert ours["bytes per core"] < 100
    assert ours["bytes per reset"] < 10


def test_rom_a_cartridge_clock_writes_into_the_roms_bytes() -> None:
    assert answer("bare_rom_bytes") == {"changed": True}
    ours = answer("ours_rom_bytes")
    assert not ours["changed"]
    assert ours["ports"][0] != ours["ports"][1] == "000000000000"


def test_state_a_raw_one_has_gaps_and_no_save_memory() -> None:
    bare = answer("bare_state")
    assert not bare["same bytes"]
    assert bare["flash"][1] == "ffffffff" != bare["flash"][0]
    ours = answer("ours_state")
    assert ours["same bytes"]
    assert ours["flash"][0] == ours["flash"][1] != "ffffffff"


def test_game_boy_without_logo_and_with_borders(tmp_path: Path) -> None:
    assert answer("bare_no_logo", str(tmp_path)) == {"found": False}
    assert answer("bare_super_game_boy") == {"size": [256, 224]}
    assert answer("ours_game_boy") == {"sizes": [[160, 144], [160, 144]]}


def test_eight_at_once_alternating_and_on_threads_equal_eight_alone() -> None:
    result = answer("ours_many", "80")
    assert result == {"frames": 11_520, "different": 8, "alternating": True, "threads": True}
