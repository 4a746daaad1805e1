import pytest

from parcade.cluster.pieces import MOST, PIECE, count_for, in_pieces

RAY_CARRIES = 100 * 1024  # bytes of an object that go with the call


@pytest.mark.parametrize("n_bytes", [0, 1, PIECE, PIECE + 1, 7 * PIECE, 30 * PIECE + 5, (MOST + 3) * PIECE])
@pytest.mark.parametrize("count", [1, 2, 8, MOST])
def test_pieces_are_the_message_whatever_their_number(n_bytes, count):
    message = bytes(number % 251 for number in range(n_bytes))
    pieces = in_pieces(message, count)
    assert len(pieces) == count
    assert b"".join(pieces) == message


@pytest.mark.parametrize("n_bytes", [0, 1, PIECE, PIECE + 1, 7 * PIECE, MOST * PIECE])
def test_ray_carries_every_piece_with_the_call(n_bytes):
    message = bytes(n_bytes)
    assert max(map(len, in_pieces(message, count_for(n_bytes)))) < RAY_CARRIES - 4000  # what Ray adds


def test_ray_is_not_given_more_than_a_call_may_carry():
    assert count_for(10**9) * RAY_CARRIES <= 10 << 20
