"""Settings of shards: into how many parts an update is divided, and how many processes learn them."""

from __future__ import annotations

from pydantic import BaseModel, field_validator

from parcade.config.fields import setting


class ShardFields(BaseModel):
    """How the learning is divided; the numbers depend on ``shards``, and on nothing else of this."""

    shards: int = setting(
        1,
        "parallel",
        "parts of the games, each with minibatches and a gradient of its own; divides n_envs and batch_size",
        ge=1,
        le=65536,
    )
    learners: int = setting(
        1, "parallel", "processes that hold the shards, each with workers of its own; divides shards", ge=1, le=1024
    )
    cluster: str | None = setting(
        None,
        "parallel",
        "hold the shards on a Ray cluster: its address (host:port), auto: the one of this machine; none: no cluster",
    )
    cluster_wait: float = setting(
        60.0, "parallel", "seconds to wait for a node of the cluster when a learner has no place", ge=0, le=1e6
    )

    @field_validator("cluster")
    @classmethod
    def _no_cluster(cls, value: str | None) -> str | None:
        """Accept none, with which a run that began on a cluster is resumed on one machine."""
        return None if value in ("none", "") else value


def check_shards(shards: int, n_envs: int, batch_size: int, algorithm: str, learners: int) -> None:
    """Refuse shards that do not divide what they are parts of, and learners that do not divide them."""
    if shards % learners:
        raise ValueError(
            f"shards {shards} is not a multiple of learners {learners} ({shards} % {learners} = {shards % learners})"
        )
    if shards == 1:
        return
    if algorithm != "ppo":
        raise ValueError(f"shards {shards} is for ppo, and algorithm is {algorithm}; leave shards out")
    for name, value in (("n_envs", n_envs), ("batch_size", batch_size)):
        if value % shards:
            raise ValueError(
                f"{name} {value} is not a multiple of shards {shards} ({value} % {shards} = {value % shards})"
            )
