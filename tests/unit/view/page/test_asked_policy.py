"""A saved policy that cannot be asked leaves a replay as it is."""

import subprocess

import numpy as np

from parcade.view.page.asked_policy import FAILED, AskedPolicy


def test_a_process_that_cannot_be_started_is_told(monkeypatch, tmp_path):
    def refuse(*_, **__):
        raise BlockingIOError(11, "Resource temporarily unavailable")

    monkeypatch.setattr(subprocess, "Popen", refuse)
    policy = AskedPolicy(tmp_path, 5)
    assert policy.state == FAILED
    assert policy.about["words"] == ("no process can be started for the saved policy: Resource temporarily unavailable")
    policy.choose("models/best_model.zip")
    policy.think(0, [{"obs": np.zeros(2, np.float32)}])
    assert policy.thought(0) is None
    assert policy.follows(7)
    assert policy.start_before(7) == 7
    policy.close()
    policy.close()
