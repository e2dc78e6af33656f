"""Counts what requests do on grids, in SQL: TRACE.csv (MSR Cambridge), units and starts separated by commas; prints JSON.

For each unit and start: reads and writes, each [requests, straddling, units touched, units covered in part].
What does not fit into 64 bits is an error of DuckDB; with 128 bits the counts take several times as long.
"""

import json
import sys

import duckdb

path, units, starts = sys.argv[1], sys.argv[2].split(","), sys.argv[3].split(",")
database = duckdb.connect()
database.execute("create table t as select start, length, kind from read_csv(?, header=false, "
                 "columns={'time':'UBIGINT','host':'VARCHAR','disk':'INTEGER','kind':'VARCHAR','start':'UBIGINT','length':'UBIGINT','response':'UBIGINT'})", [path])
answers = {}
for unit in units:
    for start in starts:
        rows = database.execute(f"""
            with placed as (select kind, start + {start}::ubigint as first, start + {start}::ubigint + length - 1::ubigint as last from t),
                 units as (select kind, first, last, first // {unit}::ubigint as a, last // {unit}::ubigint as b from placed),
                 ends as (select kind, a, b, (first % {unit}::ubigint <> 0) as head, ((last + 1::ubigint) % {unit}::ubigint <> 0) as tail from units)
            select kind, count(*), count(*) filter (b > a), sum(b - a + 1),
                   sum(case when a = b then (head or tail)::int else head::int + tail::int end)
            from ends group by kind""").fetchall()
        found = {kind: [int(value) for value in values] for kind, *values in rows}
        answers[f"{unit}+{start}"] = [found.get("Read", [0, 0, 0, 0]), found.get("Write", [0, 0, 0, 0])]
print(json.dumps(answers))
