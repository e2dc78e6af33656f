"""Spark in this process and its workers: what its tasks count is what the command counts."""

import pandas
import straddle.spark
from conftest import MAP, csv, document, examples, grids, judged, parquet, rows, run

FLAGS = ["--units", "4K,64K,192K", "--columns", MAP]


def test_ranges_of_files(spark, table):
    _, path = table
    counts = straddle.spark.scan(str(path), spark=spark, block=100_000, columns=MAP, units=["192K"])
    assert judged(counts.answer(units=["4K", "64K", "192K"])) == judged(document("trace", path, *FLAGS))


def test_row_groups_of_parquet(spark, table, tmp_path):
    columns, path = table
    file = parquet(tmp_path / "rows.parquet", columns, 1500)
    counting = {"columns": MAP, "units": ["192K"]}
    expected = judged(document("trace", path, *FLAGS))
    here = straddle.Counts.scan(file, **counting).answer(units=["4K", "64K", "192K"])
    assert judged(here) == expected
    # A task for each of the fourteen row groups, for some of them, and for all.
    for block, tasks in [(1, 14), (40_000, 7), (1 << 26, 1)]:
        assert len(list(straddle.spark._ranges(file.as_uri(), block))) == tasks
        found = straddle.spark.scan(str(file), spark=spark, block=block, **counting).answer(units=["4K", "64K", "192K"])
        assert judged(found) == expected
        assert [(one["requests"], one["bytes"]) for one in found["files"]] == [(20_000, file.stat().st_size)]


def test_a_folder_that_spark_wrote(spark, table, tmp_path):
    columns, path = table
    folder = tmp_path / "requests"
    spark.createDataFrame(pandas.DataFrame(columns)).repartition(3).write.option("compression", "none").parquet(str(folder))
    counts = straddle.spark.scan(str(folder), spark=spark, block=1, columns=MAP, units=["192K"])
    found = counts.answer(units=["4K", "64K", "192K"])
    assert counts.requests == 20_000
    # Its rows are in another order, on which nothing of this depends; `_SUCCESS` and sums of bytes beside them are no traces.
    assert grids(found) == grids(document("trace", path, *FLAGS))
    assert len(found["files"]) == 3


def test_rows_of_a_frame(spark, table):
    columns, path = table
    frame = spark.createDataFrame(pandas.DataFrame(columns)).repartition(3)
    counts = straddle.spark.count(frame, units=["192K"])
    assert counts.requests == 20_000
    found = counts.answer(units=["4K", "64K", "192K"])
    assert grids(found) == grids(document("trace", path, *FLAGS))


def test_examples_of_the_page(spark, tmp_path):
    found = examples("docs/python.md", "Spark")
    assert len(found.examples) == 6
    csv(tmp_path / "requests.csv", rows(10_000))
    assert run(found, tmp_path, {"spark": spark, "columns": MAP, "straddle": straddle}) == ""
