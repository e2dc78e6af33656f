"""Counts: of ranges of files, of batches, sent and joined."""

import pickle
import random
import threading
import time
from concurrent.futures import ProcessPoolExecutor
from functools import reduce

import pandas
import polars
import pyarrow
import pyarrow.fs
import pytest
import straddle
from conftest import MAP, csv, document, grids, judged, rows

ASKED = {"units": ["4K", "64K", "192K"], "offsets": [0, "63s", "1M"], "start": "63s"}
FLAGS = ["--units", "4K,64K,192K", "--offsets", "0,63s,1M", "--start", "63s", "--columns", MAP]
UNITS = ["192K"]


def test_a_file_is_the_document_of_the_command(table):
    _, path = table
    counts = straddle.Counts.scan(path, columns=MAP, units=UNITS)
    assert (counts.requests, counts.other, counts.bad) == (20_000, 1, 0)
    assert counts.answer(**ASKED) == document("trace", path, *FLAGS)


def parts(path, cuts, **more):
    size = path.stat().st_size
    cuts = [0, *sorted(cuts), size]
    return [straddle.Counts.scan(path, begin, end, columns=MAP, units=UNITS, **more) for begin, end in zip(cuts, cuts[1:])]


def test_ranges_of_a_file_are_the_file_in_any_order(table):
    _, path = table
    made = random.Random(3)
    whole = document("trace", path, *FLAGS)
    for _ in range(3):
        some = parts(path, [made.randrange(path.stat().st_size) for _ in range(5)])
        made.shuffle(some)
        joined = reduce(straddle.Counts.join, [pickle.loads(pickle.dumps(part)) for part in some])
        assert joined.answer(**ASKED) == whole


def of_range(arguments):
    path, begin, end = arguments
    return straddle.Counts.scan(path, begin, end, columns=MAP, units=UNITS)


def test_processes_send_their_counts(table):
    _, path = table
    size = path.stat().st_size
    ranges = [(str(path), 0, size // 2), (str(path), size // 2, size)]
    with ProcessPoolExecutor(2) as pool:
        first, second = pool.map(of_range, ranges)
    assert second.join(first).answer(**ASKED) == document("trace", path, *FLAGS)


def test_files_of_pyarrow_and_of_python(table):
    _, path = table
    local = pyarrow.fs.LocalFileSystem()
    with local.open_input_file(str(path)) as file:
        ours = straddle.Counts.scan(file, 1000, 50_000, name="x", columns=MAP)
    with open(path, "rb") as file:
        theirs = straddle.Counts.scan(file, 1000, 50_000, name="x", columns=MAP)
    expected = straddle.Counts.scan(path, 1000, 50_000, name="x", columns=MAP)
    assert ours.to_bytes() == theirs.to_bytes()
    assert ours.answer() == expected.answer()


def tables(columns):
    """The same rows in all forms that batches have."""
    table = pyarrow.table(columns)
    yield "table", table
    yield "batches", table.to_batches(max_chunksize=999)
    yield "generator", (batch for batch in table.to_batches(max_chunksize=7777))
    yield "reader", table.to_reader(max_chunksize=1000)
    yield "polars", polars.DataFrame(columns)
    yield "polars categories", polars.DataFrame(columns).with_columns(polars.col("operation").cast(polars.Categorical))
    yield "pandas", pandas.DataFrame(columns)
    yield "pandas categories", pandas.DataFrame(columns).astype({"operation": "category", "device": "category"})
    yield "dictionaries", table.set_column(2, "operation", table["operation"].dictionary_encode())
    words = ["Write" if one == "W" else "read" for one in columns["operation"]]
    yield "words", table.set_column(2, "operation", pyarrow.array(words, pyarrow.large_string()))
    flags = [one == "W" for one in columns["operation"]]
    yield "flags", table.set_column(2, "operation", pyarrow.array(flags))
    yield "digits", table.set_column(2, "operation", pyarrow.array([int(flag) for flag in flags], pyarrow.uint8()))
    yield "views", table.set_column(2, "operation", table["operation"].cast(pyarrow.string_view()))
    yield "unsigned", table.set_column(3, "offset", table["offset"].cast(pyarrow.uint64()))
    yield "short", table.set_column(4, "length", table["length"].cast(pyarrow.int32()))
    yield "times", table.set_column(0, "time", table["time"].cast(pyarrow.timestamp("ns")))
    yield "microseconds", table.set_column(0, "time", pyarrow.array([n // 1000 for n in columns["time"]], pyarrow.duration("us")))
    yield "sliced", pyarrow.concat_tables([table.slice(0, 11), table.slice(11)])


@pytest.mark.parametrize("form", [form for form, _ in tables(rows(1))])
def test_batches_are_the_rows_of_a_file(table, form):
    columns, path = table
    batches = dict(tables(columns))[form]
    counts = straddle.Counts.from_batches(batches, time="time", units=UNITS, window=0.005)
    assert (counts.requests, counts.other, counts.bad) == (20_000, 0, 0)
    assert judged(counts.answer(**ASKED)) == judged(document("trace", path, *FLAGS, "--window", "5ms"))


def test_a_million_rows(tmp_path):
    columns = rows(1_000_000, seed=11)
    path = csv(tmp_path / "million.csv", columns)
    batches = pyarrow.table(columns).to_batches(max_chunksize=65_536)
    counts = straddle.Counts.from_batches(batches, time="time", units=UNITS)
    assert counts.requests == 1_000_000
    whole = document("trace", path, *FLAGS)
    assert judged(counts.answer(**ASKED)) == judged(whole)
    # By halves, in other processes' place.
    halves = [straddle.Counts.from_batches(some, time="time", units=UNITS) for some in (batches[8:], batches[:8])]
    joined = reduce(straddle.Counts.join, [straddle.Counts.from_bytes(half.to_bytes()) for half in halves])
    assert joined.requests == 1_000_000
    assert grids(joined.answer(**ASKED)) == grids(whole)


def test_rows_that_are_no_requests():
    table = pyarrow.table({
        "offset": pyarrow.array([0, -512, None, 512, 512, 1024, 2048, 4096], pyarrow.int64()),
        "length": pyarrow.array([512, 512, 512, -1, None, 0, 1 << 33, 512], pyarrow.int64()),
        "operation": ["R", "R", "R", "W", "W", "R", "W", "seek"],
    })
    counts = straddle.Counts.from_batches(table)
    assert (counts.requests, counts.other, counts.bad) == (1, 1, 6)
    assert [(bad.line, bad.fault, bad.text) for bad in counts.bad_lines()][:2] == [
        (2, "the offset is no whole number below 2⁶⁴", "-512"),
        (3, "the offset is no whole number below 2⁶⁴", "null"),
    ]
    assert straddle.Counts.from_bytes(counts.to_bytes()).bad_lines() == counts.bad_lines()


def test_nulls_in_dictionaries_are_none_of_their_words():
    words = pyarrow.array(["R", None, "W", "R", None]).dictionary_encode()
    empty = pyarrow.array([None] * 5, pyarrow.string()).dictionary_encode()
    table = pyarrow.table({"offset": [0] * 5, "length": [512] * 5, "operation": words, "device": ["a", "a", None, "b", "b"]})
    counts = straddle.Counts.from_batches(table)
    assert (counts.requests, counts.other, counts.bad) == (3, 0, 2)
    assert {device["name"] for place in counts.answer()["places"] for device in place["devices"]} == {"a", "", "b"}
    nothing = straddle.Counts.from_batches(table.set_column(2, "operation", empty))
    assert (nothing.requests, nothing.bad) == (0, 5)


def test_flushes_are_other_and_a_device_may_be_named():
    table = pyarrow.table({"offset": [0, 0], "length": [512, 512], "operation": ["flush", "W"]})
    counts = straddle.Counts.from_batches(table, device="sdq")
    assert (counts.requests, counts.other, counts.bad) == (1, 1, 0)
    assert "sdq" in str(counts.answer())


@pytest.mark.parametrize("table, error, words", [
    ({"offset": [1], "operation": ["R"]}, ValueError, "no column is called `length`; there are offset, operation"),
    ({"offset": [1.5], "length": [1], "operation": ["R"]}, TypeError, "column `offset` is of type Float64; expected integers"),
    ({"offset": [1], "length": ["1"], "operation": ["R"]}, TypeError, "column `length` is of type Utf8; expected integers"),
    ({"offset": [1], "length": [1], "operation": [1.5]}, TypeError, "column `operation` is of type Float64"),
])
def test_tables_that_are_none(table, error, words):
    with pytest.raises(error, match=words):
        straddle.Counts.from_batches(pyarrow.table(table))


def test_things_that_are_none(table):
    _, path = table
    with pytest.raises(TypeError, match="int is no Arrow table or batch"):
        straddle.Counts.from_batches(5)
    with pytest.raises(TypeError, match="int is no Arrow table or batch"):
        straddle.Counts.from_batches([5])
    with pytest.raises(TypeError, match="expected a batch with columns"):
        straddle.Counts.from_batches([pyarrow.array([1, 2])])
    with pytest.raises(ValueError, match="a window needs a column of times"):
        straddle.Counts.from_batches(pyarrow.table(rows(3)), window=1)
    with pytest.raises(ValueError, match="shorter than 1 ms"):
        straddle.Counts.scan(path, window=0.0001)
    with pytest.raises(straddle.Error, match="/missing"):
        straddle.Counts.scan("/missing")
    with pytest.raises(straddle.Error, match="no trace of a known recorder"):
        straddle.Counts.scan(__file__)
    with pytest.raises(TypeError, match="Counts.scan"):
        straddle.Counts()


def test_errors_of_a_stream_are_raised():
    schema = pyarrow.schema([("offset", pyarrow.int64())])

    def failing():
        raise OSError("the tape is torn")
        yield

    with pytest.raises(straddle.Error, match="the tape is torn"):
        straddle.Counts.from_batches(pyarrow.RecordBatchReader.from_batches(schema, failing()))


def test_a_stream_is_taken_once():
    reader = pyarrow.table(rows(10)).to_reader()
    straddle.Counts.from_batches(reader)
    try:
        again = straddle.Counts.from_batches(reader)
    except (straddle.Error, TypeError, ValueError, OSError):
        return
    assert again.requests == 0


def test_bytes_that_are_none(table):
    _, path = table
    whole = straddle.Counts.scan(path, columns=MAP).to_bytes()
    assert straddle.Counts.from_bytes(whole).to_bytes() == whole
    for cut in (0, 1, 8, 11, 12, 100, len(whole) - 1):
        with pytest.raises(straddle.Error):
            straddle.Counts.from_bytes(whole[:cut])
    for at in range(0, len(whole), max(1, len(whole) // 300)):
        with pytest.raises(straddle.Error):
            straddle.Counts.from_bytes(whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :])


def test_what_does_not_fit_is_not_joined(table):
    _, path = table
    first, second = parts(path, [5000])
    with pytest.raises(straddle.Error, match="counted in both"):
        straddle.Counts.scan(path, columns=MAP, units=UNITS).join(second)
    with pytest.raises(straddle.Error, match="same units"):
        first.join(straddle.Counts.scan(path, 5000, columns=MAP))
    with pytest.raises(straddle.Error, match="units of 384 KiB were not counted"):
        first.answer(units=["384K"])
    with pytest.raises(AttributeError):
        first.join(b"bytes")


def test_other_threads_run_meanwhile(tmp_path):
    """A thread of Python goes on while another counts."""
    columns = rows(300_000)
    path = csv(tmp_path / "rows.csv", columns)
    passed = []
    done = threading.Event()

    def count():
        straddle.Counts.scan(path, columns=MAP, threads=1)
        done.set()

    thread = threading.Thread(target=count)
    thread.start()
    while not done.is_set():
        passed.append(time.perf_counter())
        time.sleep(0.001)
    thread.join()
    assert len(passed) >= 5
