"""An env that fails in evaluations only: training goes on, the log names the fault, and the run can be resumed."""

import sys
from pathlib import Path

import pytest
from pool_support import no_leaks  # noqa: F401

from parcade import resume, train
from parcade.train.events import EvaluationFailed

SETTINGS = {
    **{"env_id": "EvalFault-v0", "imports": ("eval_faults",), "n_envs": 2, "n_steps": 32, "total_timesteps": 256},
    **{"eval_freq": 128, "n_eval_episodes": 2, "final_eval_episodes": 2, "video": False, "worker_restarts": 1},
    **{"step_deadline_s": 1.0, "n_workers": 2},
}
WORDS = {"raise": "ArithmeticError: bad luck", "segfault": "SIGSEGV", "hang": "did not move"}


@pytest.fixture(autouse=True)
def _importable(monkeypatch):
    monkeypatch.syspath_prepend(str(Path(__file__).parent))
    sys.modules.pop("eval_faults", None)


@pytest.mark.long
@pytest.mark.parametrize("how", WORDS)
def test_training_goes_on_and_the_log_names_the_fault(tmp_path, how):
    told = []
    result = train(**SETTINGS, env_kwargs={"how": how}, log_root=str(tmp_path), on_event=told.append)
    assert result.env_steps == 256
    assert not result.interrupted
    assert result.return_mean == 10
    failed = [event for event in told if isinstance(event, EvaluationFailed)]
    assert [event.env_steps for event in failed] == [128, 256]
    log = Path(result.run_dir, "logs/train.log").read_text()
    assert "the evaluation after step 128 failed" in log
    assert WORDS[how] in log
    more = {"total_timesteps": 384, "eval_freq": 0, "final_eval_episodes": 0}
    again = resume(result.run_dir, env_id="EvalFault-v0", imports=("eval_faults",), env_kwargs={"how": how}, **more)
    assert again.env_steps == 384
