"""The process that asks a coach once: `python -m parcade.guide.coach_process PID PRIORITY`.

It reads one question as JSON from standard input and answers with a revision, or with why there is none, on standard
output. Everything that was said goes into the run's folder (coach/). It runs at the lowest priority and ends with the
training.
"""

from __future__ import annotations

import json
import os
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

from parcade.errors import ParcadeError
from parcade.host.child_process import die_with_parent, end_with, ignore_interrupts, name_process, run_last


def answer(asked: dict[str, Any]) -> dict[str, Any]:
    """Return the answer to one question: ``revision`` or ``failed``.

    What takes time to import is imported here, when the process has the priority it is to have.
    """
    from parcade.game.titles import find_title
    from parcade.guide.asked import asked_model
    from parcade.guide.coach import ask_coach, newest_moments

    try:
        game = find_title(asked["game"], asked["game_options"])
        sampled = newest_moments(asked["run"], asked["named"])
        wanted = (asked["llm"], asked["llm_model"], asked["llm_key_env"], asked["llm_seconds"])
        with asked_model(*wanted) as client:
            conversation = ask_coach(game, asked, sampled, client)
            _keep(Path(asked["run"]), asked["update"], conversation.to_dict(client))
        if conversation.faults:
            return {
                "failed": f"{client.model} gave no answer that can be used: {'; '.join(conversation.faults[:3])}"[:500]
            }
        return {"revision": conversation.data}
    except ParcadeError as error:
        return {"failed": str(error)[:500]}
    except Exception as error:  # whatever it is, the training is to hear of it in words
        return {"failed": f"{type(error).__name__} while the coach was asked"}


def _keep(run: Path, update: int, conversation: dict[str, Any]) -> None:
    from parcade.run.directory import write_json

    with suppress(OSError):  # a full disk
        (run / "coach").mkdir(exist_ok=True)
        write_json(run / "coach" / f"update_{update:09d}.json", conversation)


def main(parent: int, priority: str) -> None:
    """Answer one question."""
    ignore_interrupts()
    name_process("parcade-coach")
    die_with_parent(parent)
    end_with(parent)
    if priority == "last":
        run_last()
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # whatever else is printed is no answer
    json.dump(answer(json.loads(sys.stdin.buffer.read())), answers)
    answers.flush()


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2])
