"""Recorded requests, counted where Spark has them: each task counts its part with the kernel, and sends what it counted.

Needs pyspark, and ``straddle`` and pyarrow on every executor.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import reduce
from typing import TYPE_CHECKING, Any, Optional, Union

import straddle

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

__all__ = ["count", "scan"]

MIB = 1 << 20


_Range = tuple[str, int, Optional[int]]


def _files(path: str) -> Iterator[str]:
    """A file, or those in a folder and below it; what Spark keeps for itself there begins with ``_`` or ``.``."""
    from pyarrow import fs

    system, inside = fs.FileSystem.from_uri(path)
    if system.get_file_info(inside).type != fs.FileType.Directory:
        yield path
        return
    # What is behind a question mark says how a store is reached.
    bare, _, query = path.partition("?")
    found = system.get_file_info(fs.FileSelector(inside, recursive=True))
    for below in sorted(info.path for info in found if info.type == fs.FileType.File):
        name = below[len(inside) :].lstrip("/")
        if not any(part.startswith(("_", ".")) for part in name.split("/")):
            yield f"{bare.rstrip('/')}/{name}" + (f"?{query}" if query else "")


def _ranges(path: str, size: int) -> Iterator[_Range]:
    """Ranges of a file of ``pyarrow.fs``; one, where its lines cannot be found from the middle."""
    from pyarrow import fs

    system, inside = fs.FileSystem.from_uri(path)
    with system.open_input_file(inside) as file:
        length, head = file.size(), file.read_at(4, 0)
        if head == b"PAR1":
            yield from _row_groups(path, file, length, size)
            return
    is_packed = head[:2] in (b"\x1f\x8b", b"\xff\xfe", b"\xfe\xff") or head == b"\x28\xb5\x2f\xfd"
    is_arrow = head in (b"ARRO", b"\xff\xff\xff\xff")
    if is_packed or is_arrow or length == 0:
        yield path, 0, None
        return
    for begin in range(0, length, size):
        yield path, begin, min(begin + size, length)


def _row_groups(path: str, file: Any, length: int, size: int) -> Iterator[_Range]:
    """Ranges of a Parquet file that begin where row groups do, each of so many bytes or of one row group."""
    from pyarrow import parquet

    groups = parquet.ParquetFile(file).metadata
    begins = []
    for number in range(groups.num_row_groups):
        columns = (groups.row_group(number).column(at) for at in range(groups.num_columns))
        begins.append(min(column.dictionary_page_offset or column.data_page_offset for column in columns))
    begin = 0
    for place in begins[1:]:
        if place - begin >= size:
            yield path, begin, place
            begin = place
    yield path, begin, length


def _uri(path: str) -> str:
    import os

    return path if "://" in path else "file://" + os.path.abspath(path)


def _name(path: str) -> str:
    """An address as reports show it: passwords stand before the host or behind the question mark, and both only say how it is reached."""
    scheme, mark, rest = path.partition("://")
    if not mark or scheme == "file":
        return path
    bare, _, _ = rest.partition("?")
    host, slash, inside = bare.partition("/")
    return f"{scheme}://{host.rpartition('@')[2]}{slash}{inside}"


def scan(
    paths: Union[str, Iterable[str]],
    *,
    spark: SparkSession,
    block: int = 64 * MIB,
    **counting: Any,
) -> straddle.Counts:
    """Counts traces, a task for each ``block`` bytes of each file: the lines of text that begin there, or the row groups of Parquet. The tasks of an
    executor that is lost are repeated by others, as Spark does with all tasks.

    ``paths`` are paths, folders or addresses that ``pyarrow.fs`` opens, such as ``s3://bucket/trace.csv``; a path is one that every executor sees.
    Files that are packed, and those of Arrow, are a task each. What follows, such as ``columns`` and ``units``, is for
    :meth:`straddle.Counts.scan`.
    """
    if block < 1:
        raise ValueError("a block has at least one byte")
    paths = [paths] if isinstance(paths, str) else list(paths)
    files = [file for path in paths for file in _files(_uri(path))]
    if not files:
        raise ValueError("there are no files")
    known: set[str] = set()
    for name in map(_name, files):
        if name in known:
            raise ValueError(f"{name} is given twice")
        known.add(name)
    ranges = [one for file in files for one in _ranges(file, block)]

    def counted(one: _Range) -> bytes:
        from pyarrow import fs

        path, begin, end = one
        system, inside = fs.FileSystem.from_uri(path)
        whole = end is None
        with system.open_input_file(inside) as file:
            counts = straddle.Counts.scan(file, None if whole else begin, end, name=_name(path), **counting)
            return counts.to_bytes()

    def both(first: bytes, second: bytes) -> bytes:
        return _joined([first, second]).to_bytes()

    tasks = spark.sparkContext.parallelize(ranges, len(ranges))
    return straddle.Counts.from_bytes(tasks.map(counted).treeReduce(both))


def count(frame: DataFrame, **columns: Any) -> straddle.Counts:
    """Counts the rows of a data frame: each task counts those of its partition.

    Rows have no order from task to task, so only those of one partition follow each other. What follows, such as ``offset`` and
    ``units``, is for :meth:`straddle.Counts.from_batches`.
    """

    def counted(batches: Iterator[Any]) -> Iterator[Any]:
        import pyarrow

        counts = straddle.Counts.from_batches(batches, **columns)
        yield pyarrow.RecordBatch.from_pydict({"counts": pyarrow.array([counts.to_bytes()], pyarrow.binary())})

    # One row for each partition; an iterator would wait for one partition after the other.
    rows = frame.mapInArrow(counted, "counts binary").collect()
    return _joined(bytes(row["counts"]) for row in rows)


def _joined(parts: Iterable[bytes]) -> straddle.Counts:
    return reduce(straddle.Counts.join, map(straddle.Counts.from_bytes, parts))
