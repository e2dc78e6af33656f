"""Makes the seeds of trace-parquet and trace-arrow, by programs that people write such files with: needs pyarrow, polars and duckdb, which
tests/python/requirements.txt names. Run as target/python/bin/python fuzz/seeds/tables.py; what it wrote is kept in fuzz/corpus.
"""

import os
import random
from pathlib import Path

import duckdb
import polars
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet

CORPUS = Path(__file__).resolve().parents[1] / "corpus"
PARQUET, ARROW = CORPUS / "trace-parquet", CORPUS / "trace-arrow"
for folder in (PARQUET, ARROW):
    os.makedirs(folder, exist_ok=True)

made = random.Random(1)
ROWS = 24
columns = {
    "time": pa.array([1_700_000_000_000_000 + 1000 * row for row in range(ROWS)], pa.timestamp("us")),
    "device": pa.array([f"sd{'abc'[row % 3]}" for row in range(ROWS)]),
    "op": pa.array([made.choice("RW") for _ in range(ROWS)]),
    "offset": pa.array([512 * made.randrange(1 << 30) for _ in range(ROWS)], pa.int64()),
    "size": pa.array([512 << made.randrange(8) for _ in range(ROWS)], pa.int32()),
}
table = pa.table(columns)
words = table.set_column(1, "device", table["device"].dictionary_encode()).set_column(2, "op", table["op"].dictionary_encode())
sectors = pa.table({"lba": pa.array([None, -1] + [float(row) for row in range(22)], pa.float64()), "sectors": pa.array([8] * ROWS, pa.uint16()),
                    "is_write": pa.array([row % 2 == 0 for row in range(ROWS)])})

for packing in ["none", "snappy", "zstd", "lz4"]:
    pyarrow.parquet.write_table(table, PARQUET / f"pyarrow-{packing}", compression=packing, row_group_size=10)
pyarrow.parquet.write_table(table, PARQUET / "pyarrow-v2-pages", data_page_version="2.0", compression="gzip", use_dictionary=False)
pyarrow.parquet.write_table(sectors, PARQUET / "pyarrow-nulls", store_schema=False)
pyarrow.parquet.write_table(pa.table({"a": [1], "b": [pa.scalar([1])]}), PARQUET / "not-requests")
polars.from_arrow(table).write_parquet(PARQUET / "polars", row_group_size=12)
rows = table
duckdb.connect().execute(f"copy (from rows) to '{PARQUET / 'duckdb'}' (format parquet)")

pyarrow.feather.write_feather(table, str(ARROW / "feather-lz4"), compression="lz4", chunksize=10)
pyarrow.feather.write_feather(words, str(ARROW / "feather-words"), compression="uncompressed")
for name, rows, options in [("stream", table, None), ("stream-zstd", words, pa.ipc.IpcWriteOptions(compression="zstd"))]:
    with pa.ipc.new_stream(str(ARROW / name), rows.schema, options=options) as writer:
        writer.write_table(rows, max_chunksize=9)
polars.from_arrow(table).write_ipc(ARROW / "polars")
