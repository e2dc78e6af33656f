"""Counts traces on a cluster and prints the document of ``straddle trace --json``: a program for ``spark-submit``."""

from __future__ import annotations

import argparse
import json

import straddle.spark


def main() -> None:
    """Reads the command line, and runs one job."""
    asked = argparse.ArgumentParser(description="Counts recorded requests on a cluster; prints JSON.")
    asked.add_argument("paths", nargs="+", help="files, folders, or addresses such as s3://bucket/traces")
    asked.add_argument("--units", help="grids, separated by commas: 4K,64K")
    asked.add_argument("--offsets", help="places where the data could begin, separated by commas: 63s,1M")
    asked.add_argument("--start", default="0", help="where they begin today")
    asked.add_argument("--columns", help="which column of a table is what, as for straddle trace")
    asked.add_argument("--block", type=int, default=64 * straddle.spark.MIB, help="bytes of a task")
    given = asked.parse_args()

    from pyspark.sql import SparkSession

    spark = SparkSession.builder.appName("straddle").getOrCreate()
    units = given.units.split(",") if given.units else None
    offsets = given.offsets.split(",") if given.offsets else None
    counts = straddle.spark.scan(given.paths, spark=spark, block=given.block, units=units, columns=given.columns)
    print(json.dumps(counts.answer(units=units, offsets=offsets, start=given.start)))
    spark.stop()


if __name__ == "__main__":
    main()
