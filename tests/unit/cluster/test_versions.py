from parcade.cluster.versions import difference, versions


def test_what_differs_is_named():
    here = dict(versions())
    assert difference(here, here) is None
    assert difference(here, {**here, "torch": "1.0"}) == (
        f"has torch 1.0, and this machine {here['torch']}; install the same on both"
    )
    assert difference(here, {**here, "python": "3.9.1"}).startswith("has Python 3.9.1, and this machine 3.")
