import pytest
import torch
from tiny_envs import OPEN


@pytest.fixture(autouse=True)
def _one_thread_and_closed_pools():
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)
    while OPEN:
        OPEN.pop().close()
