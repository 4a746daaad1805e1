"""The packed records of the third generation: party members, bag slots, names.

A party member is 100 bytes: 32 plain, 48 encrypted, 20 plain. The encrypted part is four 12-byte parts, every word of
it xored with ``personality ^ trainer id``, in one of 24 orders picked by ``personality % 24``, and the 16-bit sum of
the plain words is stored beside it. Layout: pret/pokeemerald ``include/pokemon.h``.
"""

from __future__ import annotations

import struct
from functools import lru_cache
from itertools import permutations
from typing import NamedTuple

from parcade.game.pokemon_emerald.memory import BAG_SIZE, POCKETS

MEMBER_SIZE = 100
PARTY_SLOTS = 6
_KEYS = struct.Struct("<II")  # personality, trainer id
_CHECKSUM = struct.Struct("<H")
_SECRET = slice(0x20, 0x50)
_LIVE = struct.Struct("<IBxHHHHHHH")  # at 0x50: status, level, (mail), hp, max hp, then the five stats
_GROWTH = struct.Struct("<HHIBB2x")  # species, item, experience, (pp bonuses), friendship
_ATTACKS = struct.Struct("<4H4B")
# Where growth, attacks, effort and the rest stand, per personality % 24: the orders are in alphabetical sequence of
# G A E M, so permutation k of the four letters tells which part is in which place.
_PLACES = tuple(tuple(order.index(part) for part in range(4)) for order in permutations(range(4)))

_LETTERS = {0x00: " ", 0xAB: "!", 0xAC: "?", 0xAD: ".", 0xAE: "-", 0xB4: "'", 0xB8: ",", 0xBA: "/"}
_LETTERS |= {0xA1 + i: str(i) for i in range(10)}
_LETTERS |= {0xBB + i: chr(ord("A") + i) for i in range(26)}
_LETTERS |= {0xD5 + i: chr(ord("a") + i) for i in range(26)}
_END_OF_TEXT = 0xFF


class Member(NamedTuple):
    """One member of the party. ``valid`` is False if the checksum does not fit; what was encrypted is then 0."""

    valid: bool
    personality: int
    trainer_id: int
    nickname: str
    species: int
    item: int
    experience: int
    friendship: int
    moves: tuple[int, int, int, int]
    pp: tuple[int, int, int, int]
    egg: bool
    status: int
    level: int
    hp: int
    max_hp: int
    stats: tuple[int, int, int, int, int]  # attack, defence, speed, special attack, special defence


class Item(NamedTuple):
    """One slot of the bag that holds something."""

    pocket: str
    item: int
    quantity: int


@lru_cache(maxsize=1024)
def decode_member(raw: bytes) -> Member:
    """Return what the 100 bytes of a party slot mean."""
    personality, trainer_id = _KEYS.unpack_from(raw)
    plain = _decrypt(raw[_SECRET], personality ^ trainer_id)
    status, level, hp, max_hp, *stats = _LIVE.unpack_from(raw, 0x50)
    valid = sum(struct.unpack("<24H", plain)) & 0xFFFF == _CHECKSUM.unpack_from(raw, 0x1C)[0]
    if not valid:
        plain = bytes(48)
    growth, attacks, _, rest = (12 * place for place in _PLACES[personality % 24])
    species, item, experience, _, friendship = _GROWTH.unpack_from(plain, growth)
    *moves, pp1, pp2, pp3, pp4 = _ATTACKS.unpack_from(plain, attacks)
    egg = bool(plain[rest + 7] & 0x40)  # bit 30 of the word of the individual values
    return Member(
        valid,
        personality,
        trainer_id,
        decode_text(raw[0x08:0x12]),
        species,
        item,
        experience,
        friendship,
        (moves[0], moves[1], moves[2], moves[3]),
        (pp1, pp2, pp3, pp4),
        egg,
        status,
        level,
        hp,
        max_hp,
        (stats[0], stats[1], stats[2], stats[3], stats[4]),
    )


def _decrypt(secret: bytes, key: int) -> bytes:
    """Return ``secret`` with every little-endian word xored with ``key``."""
    repeated = int.from_bytes(key.to_bytes(4, "little") * 12, "little")
    return (int.from_bytes(secret, "little") ^ repeated).to_bytes(48, "little")


@lru_cache(maxsize=512)
def decode_party(raw: bytes, count: int) -> tuple[Member, ...]:
    """Return the first ``count`` members of the 600 bytes of a party."""
    return tuple(decode_member(raw[i * MEMBER_SIZE : (i + 1) * MEMBER_SIZE]) for i in range(min(count, PARTY_SLOTS)))


@lru_cache(maxsize=512)
def decode_bag(raw: bytes, key: int) -> tuple[Item, ...]:
    """Return what the five pockets hold; quantities are xored with the low half of the security key."""
    words = struct.unpack(f"<{BAG_SIZE // 2}H", raw)
    held, slot = [], 0
    for pocket, slots in POCKETS.items():
        for at in range(2 * slot, 2 * (slot + slots), 2):
            if words[at]:
                held.append(Item(pocket, words[at], words[at + 1] ^ (key & 0xFFFF)))
        slot += slots
    return tuple(held)


@lru_cache(maxsize=1024)
def decode_text(raw: bytes) -> str:
    """Return the text up to its end mark; letters outside the plain Latin ones become ``_``."""
    text = raw.partition(bytes([_END_OF_TEXT]))[0]
    return "".join(_LETTERS.get(letter, "_") for letter in text)
