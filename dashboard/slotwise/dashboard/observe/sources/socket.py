"""Snapshots from a running scheduler's Unix socket: `SLOTWISE`, the version (two bytes, big-endian), then frames, each its length (four
bytes, big-endian) and a `Snapshot` in MessagePack. The other side is not trusted: nothing it sends takes more than 16 MiB or for ever."""
from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import suppress

import anyio
import anyio.abc
import msgspec

from slotwise.dashboard.observe.sources.source import SourceError
from slotwise.impl.snapshot import VERSION, Snapshot

HELLO = b"SLOTWISE"
LARGEST = 16 * 2**20                         # bytes of a frame
PATIENCE = 5.0                               # seconds without a byte, where more must come

WRONG = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)


class _Version(msgspec.Struct):
    version: int


_decode = msgspec.msgpack.Decoder(Snapshot).decode
_decode_version = msgspec.msgpack.Decoder(_Version).decode


class Socket:
    live, coarse = True, False

    def __init__(self, name: str, patience: float = PATIENCE) -> None:
        self.name, self.patience = name, patience
        self._rest = bytearray()

    def again(self) -> Socket:
        """For another attempt."""
        return Socket(self.name, self.patience)

    async def snapshots(self) -> AsyncIterator[Snapshot]:
        """Ends when the scheduler closes the socket between two frames. Between frames it waits without limit: whoever looks sees the age of the last."""
        try:
            stream = await anyio.connect_unix(self.name)
        except (OSError, ValueError) as error:
            raise SourceError(self.name, f"cannot attach: {getattr(error, 'strerror', None) or error}") from None
        async with stream:
            await self._greet(stream)
            while (size := await self._exactly(stream, 4, "a frame's length", or_end=True)) is not None:
                length = int.from_bytes(size, "big")
                if length > LARGEST:
                    raise SourceError(self.name, f"a frame of {length:,} bytes, more than {LARGEST:,}: refused")
                data = await self._exactly(stream, length, "a frame")
                assert data is not None
                yield self._snapshot(data)

    async def _greet(self, stream: anyio.abc.SocketStream) -> None:
        hello = await self._exactly(stream, len(HELLO), "the greeting")
        if hello != HELLO:
            raise SourceError(self.name, f"not a slotwise socket: it began with {hello!r}")
        version = int.from_bytes(await self._exactly(stream, 2, "the greeting") or b"", "big")
        self._same(version)

    def _same(self, version: int) -> None:
        if version != VERSION:
            raise SourceError(self.name, f"it speaks version {version} of the snapshot, this viewer version {VERSION}")

    def _snapshot(self, data: bytes) -> Snapshot:
        try:
            found = _decode(data)
        except WRONG as error:
            with suppress(*WRONG):
                self._same(_decode_version(data).version)
            raise SourceError(self.name, f"a frame is not a snapshot: {error}") from None
        self._same(found.version)
        return found

    async def _exactly(self, stream: anyio.abc.SocketStream, count: int, what: str, or_end: bool = False) -> bytes | None:
        """So many bytes. With `or_end`, None if the other side has closed before the first of them, which may take any time to come."""
        rest = self._rest
        while len(rest) < count:
            waits = or_end and not rest
            try:
                with anyio.fail_after(None if waits else self.patience):
                    rest += await stream.receive()
            except TimeoutError:
                raise SourceError(self.name, f"stalled within {what}: {len(rest):,} of {count:,} bytes, then nothing for {self.patience:g} s") from None
            except anyio.EndOfStream:
                if waits:
                    return None
                raise SourceError(self.name, f"closed within {what}, after {len(rest):,} of {count:,} bytes") from None
            except (anyio.BrokenResourceError, OSError):
                raise SourceError(self.name, f"the socket has vanished, within {what}") from None
        data = bytes(rest[:count])
        del rest[:count]
        return data
