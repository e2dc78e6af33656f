"""Spark in this process and its workers: what its tasks count is what the command counts."""

import os
import sys

import pandas
import pytest
import straddle.spark
from conftest import MAP, csv, document, examples, grids, judged, rows, run

FLAGS = ["--units", "4K,64K,192K", "--columns", MAP]


@pytest.fixture(scope="module")
def spark():
    from pyspark.sql import SparkSession

    os.environ["PYSPARK_PYTHON"] = sys.executable
    session = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false").config("spark.driver.host", "127.0.0.1").getOrCreate()
    yield session
    session.stop()


def test_ranges_of_files(spark, table):
    _, path = table
    counts = straddle.spark.scan(str(path), spark=spark, block=100_000, columns=MAP, units=["192K"])
    assert judged(counts.answer(units=["4K", "64K", "192K"])) == judged(document("trace", path, *FLAGS))


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
