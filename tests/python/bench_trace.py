"""Straddling requests at 8 offsets on 4 units, reads and writes apart, by other means: MODE TRACE; prints the seconds that it took.

Nothing but the question is timed: neither the start of Python nor the import of libraries. TRACE is a table of text, for modes that end
in `-parquet` one of Parquet. The mode `pyarrow-parquet` asks nothing: it decodes the columns that straddle reads. The mode `make` writes
TRACE.parquet, with the compression that is named behind it.
"""

import os
import sys
import time

mode, path = sys.argv[1], sys.argv[2]
offsets = [0, 32256, 32768, 65536, 131072, 262144, 524288, 1048576]
units = [4096, 65536, 131072, 262144]
os.environ["POLARS_MAX_THREADS"] = "2"

COLUMNS = ["host", "disk", "kind", "start", "length"]

if mode == "make":
    import pyarrow
    from pyarrow import csv, parquet

    types = {"time": pyarrow.uint64(), "host": pyarrow.string(), "disk": pyarrow.int32(), "kind": pyarrow.string(),
             "start": pyarrow.int64(), "length": pyarrow.int64(), "response": pyarrow.int64()}
    reader = csv.open_csv(path, csv.ReadOptions(column_names=list(types), block_size=64 << 20), convert_options=csv.ConvertOptions(column_types=types))
    with parquet.ParquetWriter(path.removesuffix(".csv") + ".parquet", pyarrow.schema(list(types.items())), compression=sys.argv[3]) as writer:
        for batch in reader:
            writer.write_table(pyarrow.Table.from_batches([batch]), row_group_size=1 << 20)
    sys.exit()
if mode == "pyarrow-parquet":
    import pyarrow
    from pyarrow import compute, parquet

    pyarrow.set_cpu_count(2)
    pyarrow.set_io_thread_count(2)
    began = time.perf_counter()
    table = parquet.read_table(path, columns=COLUMNS, read_dictionary=["host", "kind"])
    took = time.perf_counter() - began
    reads = compute.sum(compute.equal(table["kind"].cast(pyarrow.string()), "Read")).as_py()
    print(f"{took:.4f} {reads} {table.num_rows - reads}")
    sys.exit()
if mode.startswith("polars"):
    import polars as pl

    schema = {"time": pl.UInt64, "host": pl.String, "disk": pl.Int32, "kind": pl.String,
              "start": pl.Int64, "length": pl.Int64, "response": pl.Int64}
    began = time.perf_counter()
    rows = pl.scan_parquet(path) if mode.endswith("-parquet") else pl.scan_csv(path, has_header=False, schema=schema)
    kind = (pl.col("kind") == "Read").alias("read")
    if mode == "polars-plain":
        straddles = [((pl.col("start") + offset) % unit + pl.col("length") > unit).sum().alias(f"{offset} {unit}")
                     for offset in offsets for unit in units]
        found = rows.group_by(kind).agg(straddles).collect(engine="streaming")
    else:
        counted = rows.select((pl.col("start") % 1048576).alias("place"), "length", kind).group_by("place", "length", "read")
        counted = counted.agg(pl.len().alias("n")).collect(engine="streaming")
        straddles = [(((pl.col("place") + offset) % unit + pl.col("length") > unit) * pl.col("n")).sum().alias(f"{offset} {unit}")
                     for offset in offsets for unit in units]
        found = counted.lazy().group_by("read").agg(straddles).collect()
    took = time.perf_counter() - began
    answer = {("Read" if row["read"] else "Write"): row["0 4096"] for row in found.iter_rows(named=True)}
elif mode.startswith("duckdb"):
    import duckdb

    database = duckdb.connect()
    database.execute("set threads = 2")
    sums = ", ".join(f"sum(n * ((place + {offset}) % {unit} + length > {unit})::int)" for offset in offsets for unit in units)
    table = f"read_parquet('{path}')" if mode.endswith("-parquet") else (
        f"read_csv('{path}', header = false, columns = {{'time': 'UBIGINT', 'host': 'VARCHAR', 'disk': 'INTEGER', 'kind': 'VARCHAR', "
        "'start': 'BIGINT', 'length': 'BIGINT', 'response': 'BIGINT'})")
    began = time.perf_counter()
    found = database.execute(f"with counted as (select start % 1048576 as place, length, kind, count(*) as n from {table} group by all) "
                             f"select kind, {sums} from counted group by kind").fetchall()
    took = time.perf_counter() - began
    answer = {row[0]: int(row[1]) for row in found}
print(f"{took:.4f} {answer['Read']} {answer['Write']}")
