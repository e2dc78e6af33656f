"""Straddling requests at 8 offsets on 4 units, reads and writes apart, by Spark: TRACE.csv TRACE.parquet ROUNDS; prints a line for each
question that was timed: what, which file, and the seconds that it took.

One session with two cores answers all of them in turn, round after round, after one round that is not timed. Answers that differ end it.
"""

import os
import sys
import time

import straddle.spark
from pyspark.sql import SparkSession

table, parquet, rounds = sys.argv[1], sys.argv[2], int(sys.argv[3])
offsets = [0, 32256, 32768, 65536, 131072, 262144, 524288, 1048576]
units = [4096, 65536, 131072, 262144]
os.environ["PYSPARK_PYTHON"] = sys.executable
spark = (SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false").config("spark.driver.host", "127.0.0.1")
         .config("spark.driver.memory", "3g").config("spark.ui.showConsoleProgress", "false").config("spark.sql.shuffle.partitions", "2").getOrCreate())
spark.sparkContext.setLogLevel("ERROR")
SCHEMA = "time long, host string, disk int, kind string, start long, length long, response long"
spark.read.csv(table, schema=SCHEMA).createOrReplaceTempView("csv")
spark.read.parquet(parquet).createOrReplaceTempView("parquet")
COLUMNS = "offset=start,size=length,op=kind,device=host+disk"


def of_rows(rows):
    """What all of them answer: by direction, straddling requests for each offset and unit."""
    return {row[0]: [int(value) for value in row[1:]] for row in rows}


def plain(view):
    sums = ", ".join(f"sum(int((start + {offset}) % {unit} + length > {unit}))" for offset in offsets for unit in units)
    return of_rows(spark.sql(f"select kind, {sums} from {view} group by kind").collect())


def counted_first(view):
    sums = ", ".join(f"sum(n * int((place + {offset}) % {unit} + length > {unit}))" for offset in offsets for unit in units)
    counted = f"select kind, start % 1048576 as place, length, count(*) as n from {view} group by all"
    return of_rows(spark.sql(f"select kind, {sums} from ({counted}) group by kind").collect())


def of_counts(counts):
    found = counts.answer(units=units, offsets=offsets[1:], devices=0)["places"][0]["all"]["grids"]
    answer = {"Read": [], "Write": []}
    for at in range(len(offsets)):
        for grid in found:
            loads = (grid["today"] if at == 0 else grid["starts"][at - 1])["loads"]
            answer["Read"].append(loads["read"]["straddling"])
            answer["Write"].append(loads["write"]["straddling"])
    return answer


def scan(view):
    path, columns = {"csv": (table, None), "parquet": (parquet, COLUMNS)}[view]
    return of_counts(straddle.spark.scan(path, spark=spark, columns=columns))


def batches(view):
    frame = spark.sql(f"select start, length, kind, host from {view}")
    return of_counts(straddle.spark.count(frame, offset="start", length="length", operation="kind", device="host"))


def handed(view):
    """The rows that `batches` asks for, handed to Python and thrown away there: what no function can be faster than."""
    def thrown_away(rows):
        import pyarrow

        yield pyarrow.RecordBatch.from_pydict({"rows": [sum(batch.num_rows for batch in rows)]})

    spark.sql(f"select start, length, kind, host from {view}").mapInArrow(thrown_away, "rows long").collect()


MEANS = {"scan": scan, "SQL, counted first": counted_first, "SQL": plain, "mapInArrow": batches, "rows to Python": handed}
expected = None
for number in range(rounds + 1):
    for view in ["csv", "parquet"]:
        for name, means in MEANS.items():
            began = time.perf_counter()
            answer = means(view)
            took = time.perf_counter() - began
            expected = expected or answer
            if answer not in (None, expected):
                sys.exit(f"{name} of {view}: {answer} instead of {expected}")
            if number > 0:
                print(f"{name}\t{view}\t{took:.4f}", flush=True)
spark.stop()
