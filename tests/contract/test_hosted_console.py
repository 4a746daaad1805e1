"""A console in a process of its own is the same console; that it fails is told in words and harms nobody."""

import os
import re
import signal
import time

import numpy as np
import pytest

from parcade.console import hosted
from parcade.console.base import AddressError, Console, button_mask
from parcade.console.gameboy import GameBoy
from parcade.console.hosted import HostedConsole
from parcade.console.rom import Rom, builtin_rom
from parcade.errors import RunError, SaveStateError
from parcade.game.lantern import Lantern

ROM = builtin_rom("lantern.gb")


def spinning(rom: Rom) -> Rom:
    """Return a ROM whose first instruction after the boot logo is none: PyBoy never comes to the end of that frame."""
    data = bytearray(rom.data)
    data[0x100:0x104] = bytes([0x00, 0xC3, 0x50, 0x01])
    data[0x150:0x152] = b"\xdd\xdd"
    return Rom(bytes(data), "spin.gb")


def test_it_is_the_same_console():
    theirs, ours = HostedConsole(ROM), GameBoy(ROM)
    try:
        assert isinstance(theirs, Console)
        assert (theirs.buttons, theirs.screen_shape) == (ours.buttons, ours.screen_shape)
        for console in (theirs, ours):
            Lantern().start(console, 3)
            console.advance(button_mask(console.buttons, "right"), 12)
        assert np.array_equal(theirs.screen(), ours.screen())
        assert theirs.read(0xC000, 0x2000) == bytes(ours.read(0xC000, 0x2000))
        assert theirs.read_bank(0, 0x100, 16) == ours.read_bank(0, 0x100, 16)
        assert theirs.save() == ours.save()
        theirs.write(0xC000, b"\x12\x34")
        assert theirs.read(0xC000, 2) == b"\x12\x34"
        theirs.load(ours.save())
        assert theirs.read(0xC000, 2) == bytes(ours.read(0xC000, 2))
        with pytest.raises(AddressError, match="lie outside"):
            theirs.read(0xFFFF, 9)
        with pytest.raises(SaveStateError, match="checksum is wrong"):
            theirs.load(ours.save()[:-1])
        theirs.advance(0, 1)
    finally:
        theirs.close()
        ours.close()


def test_a_console_that_spins_is_ended_and_told(monkeypatch, caplog):
    monkeypatch.setattr(hosted, "DEADLINE_S", 1.0)
    monkeypatch.setattr("parcade.host.hosted.SLOW_S", 0.3)
    console = HostedConsole(spinning(ROM))
    with pytest.raises(RunError, match=r"the console with spin.gb did not move for 1 s and was ended"):
        console.advance(0, 200)
    assert re.search(r"the console with spin.gb does not answer since \d s; after 1 s it is ended", caplog.text)
    with pytest.raises(RunError, match="has ended"):
        console.advance(0, 1)
    console.close()


def test_a_wait_can_be_left_and_a_console_that_goes_on_is_still_there():
    console = HostedConsole(ROM)

    def leave():
        raise KeyboardInterrupt

    console.while_waiting(leave)
    with pytest.raises(KeyboardInterrupt):
        console.advance(0, 20_000)
    console.while_waiting(lambda: None)
    assert len(console.read(0xC000, 4)) == 4  # after what was under way
    console.close()


def test_a_death_is_told_with_its_signal_and_nothing_is_left():
    console = HostedConsole(ROM)
    pid = console._hosted._process.pid
    os.kill(pid, signal.SIGSEGV)
    with pytest.raises(RunError, match=r"the console with lantern.gb was killed by SIGSEGV"):
        console.advance(0, 1)
    deadline = time.monotonic() + 10
    while os.path.exists(f"/proc/{pid}"):
        assert time.monotonic() < deadline
        time.sleep(0.02)
