import numpy as np
import pytest

from parcade.learn.advantage import gae


def test_gae_worked_out_by_hand():
    """gamma = lambda = 0.5, so the future counts half and an advantage is carried back by a quarter.

    Slot 0 terminates at step 1 and is truncated at step 2 before an observation worth 8:
      step 3:  4 + 0.5 * 50 - 40 = -11
      step 2:  3 + 0.5 *  8 - 30 = -23            nothing is carried over the cut
      step 1:  2 +        0 - 20 = -18            the future of a dead episode is worth nothing
      step 0:  1 + 0.5 * 20 - 10 =   1, and 1 + 0.25 * -18 = -3.5
    Slot 1 goes on through all steps:
      step 3:  8;  step 2:  0 + 0.25 * 8 = 2;  step 1:  -4 + 0.25 * 2 = -3.5;  step 0:  2 + 0.25 * -3.5 = 1.125
    Slot 2 ends with both flags at step 3, and death wins over the 100 its last observation would be worth:
      step 3:  5 - 1 = 4;  step 2:  0.5 + 0.25 * 4 = 1.5;  step 1:  0.375;  step 0:  0.09375
    """
    rewards = np.array([[1, 0, 0], [2, 0, 0], [3, 0, 0], [4, 8, 5]], np.float32)
    values = np.array([[10, 0, 0], [20, 4, 0], [30, 0, 0], [40, 0, 1], [50, 0, 70]], np.float32)
    terminated, truncated = np.zeros((4, 3), bool), np.zeros((4, 3), bool)
    terminated[1, 0] = truncated[2, 0] = True
    terminated[3, 2] = truncated[3, 2] = True
    final = np.zeros((4, 3), np.float32)
    final[2, 0], final[3, 2] = 8, 100
    advantages, returns = gae(rewards, values, terminated, truncated, final, 0.5, 0.5)
    wanted = [[-3.5, 1.125, 0.09375], [-18, -3.5, 0.375], [-23, 2, 1.5], [-11, 8, 4]]
    assert advantages.tolist() == wanted
    assert returns.tolist() == (np.array(wanted) + values[:-1]).tolist()


def test_lambda_one_without_ends_is_the_discounted_sum():
    rng = np.random.default_rng(0)
    rewards, values = rng.normal(size=(6, 2)).astype(np.float32), rng.normal(size=(7, 2)).astype(np.float32)
    none = np.zeros((6, 2), bool)
    _, returns = gae(rewards, values, none, none, np.zeros((6, 2), np.float32), 0.9, 1.0)
    wanted = sum(0.9**t * rewards[t] for t in range(6)) + 0.9**6 * values[6]
    assert returns[0] == pytest.approx(wanted, abs=1e-5)
