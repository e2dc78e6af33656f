"""Straddle for Python: where requests straddle the boundaries of what is below them, and what that costs.

Sizes and places are bytes, as a number or as the command takes them: ``4096``, ``"4K"``, ``"63s"`` (sectors of 512 bytes), ``"1MiB"``.
A unit of a trace may say what crossing its boundary costs: ``"64K:rmw"``, ``"64K:split"``.

Documents are dictionaries, the same that the command prints with ``--json``; ``straddle schema check`` and ``straddle schema trace``
describe them. What the command says on standard error is raised as :class:`Error`, an argument that is none as :class:`ValueError`.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Sequence
from datetime import timedelta
from fractions import Fraction
from typing import Any, NamedTuple, Optional, Union

from straddle import _straddle
from straddle._straddle import Error

__all__ = ["BadLine", "Counts", "Crossings", "Error", "check", "crossings", "first_aligned", "trace"]

Size = Union[int, str]
Path = Union[str, "os.PathLike[str]"]
Window = Union[float, timedelta]


class Crossings(NamedTuple):
    """How equally spaced requests meet a grid. All figures are exact means over requests without end."""

    mean: Fraction
    """Mean number of boundaries strictly inside a request."""
    straddling: Fraction
    """Share of requests with at least one boundary strictly inside."""
    partial: Fraction
    """Mean number of granules that a request covers only in part (0 to 2): each costs a write a read before it."""
    worst_units: int
    """Most granules that any request touches."""


def crossings(start: Size, step: Size, length: Size, unit: Size, phase: Size = 0) -> Crossings:
    """Says how requests of ``length`` bytes, one every ``step`` bytes, the first at byte ``start``, meet boundaries every ``unit``
    bytes, the first at byte ``phase``.

    >>> crossings("63s", "8K", "8K", "64K").straddling
    Fraction(1, 8)
    """
    mean, straddling, partial, worst = _straddle.crossings(start, step, length, unit, phase)
    return Crossings(Fraction(*mean), Fraction(*straddling), Fraction(*partial), worst)


def first_aligned(offset: Size, units: Iterable[Size]) -> int:
    """Gives the first byte at or behind ``offset`` at which all ``units`` have a boundary.

    >>> first_aligned("63s", ["4K", "192K"])
    196608
    """
    return _straddle.first_aligned(offset, list(units))


def check(
    paths: Union[Path, Iterable[Path]],
    *,
    take_as: str = "auto",
    io: Optional[Iterable[Size]] = None,
    sysroot: Optional[Path] = None,
) -> dict[str, Any]:
    """Checks images, devices, files, captured text and folders of these; this machine where ``paths`` is empty. Everything is opened
    read-only.

    ``take_as`` is ``auto``, ``image``, ``file`` or ``text``; ``io`` are sizes of requests to price, in bytes; ``sysroot`` is a captured
    host in place of this one. Gives the document of ``straddle check --json``: what could not be read is in its ``failures``. A single file
    in which nothing is recognised raises :class:`Error`.
    """
    sizes = None if io is None else list(io)
    return json.loads(_straddle.check(_paths(paths), take_as, sizes, sysroot))


def trace(
    paths: Union[Path, Iterable[Path]],
    *,
    units: Optional[Iterable[Size]] = None,
    offsets: Optional[Iterable[Size]] = None,
    start: Size = 0,
    relative: bool = False,
    stack: Optional[Path] = None,
    layer: Optional[str] = None,
    window: Optional[Window] = None,
    devices: int = 20,
    only: Sequence[str] = (),
    columns: Optional[str] = None,
    recorder: Optional[str] = None,
    threads: Optional[int] = None,
    memory: Optional[int] = None,
) -> dict[str, Any]:
    """Says what each start would cost the requests that traces recorded. Takes files, packed or not, and folders of them.

    ``units`` are the grids, ``offsets`` the places where the data could begin, ``start`` where they begin today, all in bytes; with
    ``relative``, recorded offsets count from ``start``. With ``stack``, anything that ``check`` takes, the grids are those of that stack,
    and ``layer`` is what was recorded of it. ``window`` is in seconds: requests are counted apart by stretches of time. ``columns`` says
    which column of a table is what, as ``--columns`` does; ``memory`` is in bytes. Gives the document of ``straddle trace --json``: what
    could not be read is in its ``failures``.
    """
    # Asked for twice.
    units = None if units is None else list(units)
    question = _question(units, offsets, start, relative, only, devices)
    counting = _counting(units, window, columns, recorder, threads, memory)
    return json.loads(_straddle.trace(_paths(paths), question, counting, stack, layer))


class BadLine(NamedTuple):
    """A line or row that could not be understood."""

    file: str
    """What it is in."""
    line: int
    """Its number, from 1."""
    fault: str
    """Why."""
    text: str
    """Its beginning."""


class Counts:
    """Recorded requests, counted: how many of each length begin at each place modulo 1 MiB, and what follows what.

    Counts of parts of a file, of files and of machines become one by :meth:`join`, in any order, with the same result. They can be
    pickled, so they may be made in other processes and on other machines.
    """

    __slots__ = ("_counts",)

    def __init__(self) -> None:
        raise TypeError("counts are made by Counts.scan, Counts.from_batches and Counts.from_bytes")

    @classmethod
    def _of(cls, counts: _straddle.Counts) -> Counts:
        self = object.__new__(cls)
        self._counts = counts
        return self

    @classmethod
    def scan(
        cls,
        file: Any,
        begin: Optional[int] = None,
        end: Optional[int] = None,
        *,
        name: Optional[str] = None,
        units: Optional[Iterable[Size]] = None,
        window: Optional[Window] = None,
        columns: Optional[str] = None,
        recorder: Optional[str] = None,
        threads: Optional[int] = None,
        memory: Optional[int] = None,
    ) -> Counts:
        """Counts the requests of a trace whose lines begin at byte ``begin`` or behind it and before byte ``end``: ranges that meet
        count every line once, wherever they cut it. What is packed or binary can only be counted as a whole.

        ``file`` is a path, or an open file: one of ``pyarrow.fs`` with ``open_input_file``, or one of ``open`` with ``"rb"``. ``units``
        in bytes are those that will be asked about, as far as they do not divide 1 MiB; ``window`` is in seconds.
        """
        is_path = isinstance(file, (str, os.PathLike))
        if name is None:
            name = os.fspath(file) if is_path else str(getattr(file, "name", "file"))
        file = os.fspath(file) if is_path else file
        counting = _counting(units, window, columns, recorder, threads, memory)
        return cls._of(_straddle.Counts.scan(file, name, begin, end, counting))

    @classmethod
    def from_batches(
        cls,
        batches: Any,
        *,
        offset: str = "offset",
        length: str = "length",
        operation: str = "operation",
        device: str = "device",
        time: Optional[str] = None,
        name: str = "batches",
        units: Optional[Iterable[Size]] = None,
        window: Optional[Window] = None,
        memory: Optional[int] = None,
    ) -> Counts:
        """Counts the rows of Arrow tables or batches: whatever has ``__arrow_c_stream__`` or ``__arrow_c_array__``, such as tables and
        batches of pyarrow and frames of polars and pandas, or anything that yields those. Columns are read where they are.

        ``offset``, ``length`` and so on are the names of columns. Offset and length are integers of any type, in bytes. Operation is
        boolean (true for a write), words such as ``R`` and ``Write``, in a dictionary or not, or 0 and 1. Time is optional: timestamps,
        durations, or integers of nanoseconds. ``device`` is the column that names the device; where there is none of that name, all
        requests are of a device that is called so. Rows that are no requests are counted as :attr:`bad`. ``window`` is in seconds.
        """
        if window is not None and time is None:
            raise ValueError("a window needs a column of times: name it with time=")
        counting = _counting(units, window, None, None, None, memory)
        columns = {"offset": offset, "length": length, "operation": operation, "device": device, "time": time}
        return cls._of(_straddle.Counts.from_batches(batches, name, columns, counting))

    @classmethod
    def from_bytes(cls, data: bytes) -> Counts:
        """Reads what :meth:`to_bytes` wrote. Bytes that were damaged, or that contradict themselves, raise :class:`Error`."""
        return cls._of(_straddle.Counts.from_bytes(data))

    def to_bytes(self) -> bytes:
        """All of it as bytes, the same on every machine."""
        return self._counts.to_bytes()

    def __reduce__(self) -> tuple[Any, ...]:
        return (type(self).from_bytes, (self.to_bytes(),))

    def join(self, other: Counts) -> Counts:
        """Adds ``other`` to these counts, and gives these. Files and devices of one name are the same ones; what counts other units or
        windows, or bytes of a file that are counted here already, raises :class:`Error`."""
        self._counts.join(other._counts)
        return self

    def answer(
        self,
        *,
        units: Optional[Iterable[Size]] = None,
        offsets: Optional[Iterable[Size]] = None,
        start: Size = 0,
        relative: bool = False,
        devices: int = 20,
        only: Sequence[str] = (),
    ) -> dict[str, Any]:
        """Says what each start would cost these requests: the document of ``straddle trace --json``. Arguments are those of
        :func:`trace`. Nothing is read again, so any number of questions can be asked."""
        return json.loads(self._counts.answer(_question(units, offsets, start, relative, only, devices)))

    @property
    def requests(self) -> int:
        """How many requests there are."""
        return self._counts.lines()["requests"]

    @property
    def other(self) -> int:
        """How many lines or rows are no requests and need not be: headings, flushes, requests of 0 bytes."""
        return self._counts.lines()["other"]

    @property
    def bad(self) -> int:
        """How many lines or rows could not be understood."""
        return self._counts.lines()["bad"]

    def bad_lines(self) -> list[BadLine]:
        """The first lines or rows of each file that could not be understood."""
        return [BadLine(*line) for line in self._counts.bad()]

    def __repr__(self) -> str:
        lines = self._counts.lines()
        return f"<straddle.Counts of {lines['requests']:,} requests, {lines['bad']:,} bad lines>"


def _paths(paths: Union[Path, Iterable[Path]]) -> list[str]:
    if isinstance(paths, (str, os.PathLike)):
        return [os.fspath(paths)]
    return [os.fspath(path) for path in paths]


def _question(
    units: Optional[Iterable[Size]],
    offsets: Optional[Iterable[Size]],
    start: Size,
    relative: bool,
    only: Sequence[str],
    devices: int,
) -> dict[str, Any]:
    return {
        "units": None if units is None else list(units),
        "offsets": None if offsets is None else list(offsets),
        "start": start,
        "relative": relative,
        "only": [only] if isinstance(only, str) else list(only),
        "devices": devices,
    }


def _counting(
    units: Optional[Iterable[Size]],
    window: Optional[Window],
    columns: Optional[str],
    recorder: Optional[str],
    threads: Optional[int],
    memory: Optional[int],
) -> dict[str, Any]:
    if window is not None and not isinstance(window, timedelta):
        window = timedelta(seconds=window)
    if window is not None and window < timedelta(0):
        raise ValueError("the window is shorter than 1 ms")
    return {
        "units": None if units is None else list(units),
        "window": window,
        "columns": columns,
        "recorder": recorder,
        "threads": threads,
        "memory": memory,
    }
