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


def _ranges(path: str, size: int) -> Iterator[tuple[str, int, Optional[int]]]:
    """Ranges of a file of ``pyarrow.fs``; one, where its lines cannot be found from the middle."""
    from pyarrow import fs

    system, inside = fs.FileSystem.from_uri(path)
    with system.open_input_file(inside) as file:
        length, head = file.size(), file.read_at(4, 0)
    is_packed = head[:2] in (b"\x1f\x8b", b"\xff\xfe", b"\xfe\xff") or head == b"\x28\xb5\x2f\xfd"
    if is_packed or length == 0:
        yield path, 0, None
        return
    for begin in range(0, length, size):
        yield path, begin, min(begin + size, length)


def _uri(path: str) -> str:
    import os

    return path if "://" in path else "file://" + os.path.abspath(path)


def scan(
    paths: Union[str, Iterable[str]],
    *,
    spark: SparkSession,
    block: int = 64 * MIB,
    **counting: Any,
) -> straddle.Counts:
    """Counts traces in lines of text, a task for each ``block`` bytes of each file.

    ``paths`` are paths or addresses that ``pyarrow.fs`` opens, such as ``s3://bucket/trace.csv``. Files that are packed are a task each.
    What follows, such as ``columns`` and ``units``, is for :meth:`straddle.Counts.scan`.
    """
    if block < 1:
        raise ValueError("a block has at least one byte")
    paths = [paths] if isinstance(paths, str) else list(paths)
    ranges = [one for path in paths for one in _ranges(_uri(path), block)]
    if not ranges:
        raise ValueError("there are no paths")

    def counted(one: tuple[str, int, Optional[int]]) -> bytes:
        from pyarrow import fs

        path, begin, end = one
        system, inside = fs.FileSystem.from_uri(path)
        whole = end is None
        with system.open_input_file(inside) as file:
            counts = straddle.Counts.scan(file, None if whole else begin, end, name=path, **counting)
            return counts.to_bytes()

    tasks = spark.sparkContext.parallelize(ranges, len(ranges))
    return _joined(tasks.map(counted).toLocalIterator())


def count(frame: DataFrame, **columns: Any) -> straddle.Counts:
    """Counts the rows of a data frame: each task counts those of its partition.

    Rows have no order from task to task, so only those of one partition follow each other. What follows, such as ``offset`` and
    ``units``, is for :meth:`straddle.Counts.from_batches`.
    """

    def counted(batches: Iterator[Any]) -> Iterator[Any]:
        import pyarrow

        counts = straddle.Counts.from_batches(batches, **columns)
        yield pyarrow.RecordBatch.from_pydict({"counts": pyarrow.array([counts.to_bytes()], pyarrow.binary())})

    rows = frame.mapInArrow(counted, "counts binary").toLocalIterator()
    return _joined(bytes(row["counts"]) for row in rows)


def _joined(parts: Iterable[bytes]) -> straddle.Counts:
    return reduce(straddle.Counts.join, map(straddle.Counts.from_bytes, parts))
