"""Many snapshots in little memory: a long recording has thousands, of which only a few are looked at."""
from __future__ import annotations

import zlib
from collections import OrderedDict

import msgspec

from slotwise.impl.snapshot import Snapshot

LATEST = 128                             # that are kept as they are, too
_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(Snapshot).decode


class Packed:
    """As a list, but that what is taken out of it equals what was put in, and need not be the same object."""

    def __init__(self) -> None:
        self._all: list[bytes] = []
        self._latest: OrderedDict[bytes, Snapshot] = OrderedDict()

    def append(self, snapshot: Snapshot) -> None:
        packed = zlib.compress(_encode(snapshot), 1)
        self._all.append(packed)
        self._keep(packed, snapshot)

    def __getitem__(self, place: int) -> Snapshot:
        packed = self._all[place]
        found = self._latest.get(packed)
        if found is None:
            found = _decode(zlib.decompress(packed))
        self._keep(packed, found)
        return found

    def thin(self) -> None:
        """Each second one stays."""
        del self._all[::2]

    def __len__(self) -> int:
        return len(self._all)

    def _keep(self, packed: bytes, snapshot: Snapshot) -> None:
        self._latest[packed] = snapshot
        self._latest.move_to_end(packed)
        if len(self._latest) > LATEST:
            self._latest.popitem(last=False)
