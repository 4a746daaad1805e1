"""What episodes were played in, as their files say it."""

from __future__ import annotations

import json

from parcade.env.fingerprint import fingerprint
from parcade.env.make import find_rom, make_game
from parcade.env.spec import EnvSpec
from parcade.run.episodes import EpisodeOrigin, present_version


def origin_of(spec: EnvSpec, player: str) -> EpisodeOrigin:
    """Return the origin of episodes that ``player`` plays in ``spec``, equal to what a file of it will say."""
    return EpisodeOrigin(
        env=json.loads(json.dumps(spec.to_dict())),  # lists where the spec has tuples
        parcade=present_version(),
        player=player,
        rom_sha1=find_rom(spec, make_game(spec)).sha1 if spec.game is not None else None,
        state_sha1=fingerprint(spec.state) if spec.state is not None else None,
        holds_all_states=spec.holds_all_states,
    )
