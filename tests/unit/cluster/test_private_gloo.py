"""What torch keeps private of gloo may be gone in its next release: a training on a cluster says so at its start."""

import pytest

from parcade.cluster import private_gloo
from parcade.cluster.notice_board import c10d
from parcade.cluster.private_gloo import check_gloo, has_group_options
from parcade.errors import ClusterError


@pytest.fixture(autouse=True)
def probed_anew():
    has_group_options.cache_clear()
    yield
    has_group_options.cache_clear()


def test_this_torch_has_them():
    check_gloo(n_learners=2)


class GlooWithoutOptions:
    create_device = c10d.ProcessGroupGloo.create_device


class Options:
    __slots__ = ("devices", "threads", "timeout")


class GlooWithOtherOptions(GlooWithoutOptions):
    _Options = Options


@pytest.mark.parametrize("changed", [GlooWithoutOptions, GlooWithOtherOptions])
def test_without_a_groups_options_a_cluster_is_refused(changed, monkeypatch):
    monkeypatch.setattr(c10d, "ProcessGroupGloo", changed)
    check_gloo(n_learners=1)  # it sends nothing
    with pytest.raises(ClusterError, match=r"^torch [\d.+a-z]+ does not take .*; install torch 2\.13$"):
        check_gloo(n_learners=2)
    assert not private_gloo.has_group_options()
