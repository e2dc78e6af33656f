"""A store that speaks S3: what Spark reads from it, range by range, is what the command reads from a file."""

import http.client
import subprocess
import sys
import time

import pytest
import straddle.spark
from conftest import MAP, PATIENCE, csv, document, judged, parquet, rows

FLAGS = ["--units", "4K,64K,192K", "--columns", MAP]
HELD = ["4K", "64K", "192K"]


def put(port, path, body=b""):
    """One request, as every client of S3 can make it. Uploads in parts are another matter, and nothing to do with reading."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE)
    # The name of a service in the signature is what the server goes by; it checks no signatures.
    signed = "AWS4-HMAC-SHA256 Credential=tester/20260101/us-east-1/s3/aws4_request, SignedHeaders=host, Signature=0"
    connection.request("PUT", path, body, {"Authorization": signed, "Content-Length": str(len(body))})
    answer = connection.getresponse()
    said = answer.read()
    connection.close()
    assert answer.status == 200, (answer.status, said[:500])


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    """The port of a server of S3 on this machine, with a bucket in it, and the file that has the paths which it was asked for."""
    log = tmp_path_factory.mktemp("store") / "log"
    with log.open("wb") as out:
        # It chooses a port that is free, and says which.
        server = subprocess.Popen([sys.executable, "-u", "-m", "moto.server", "--host", "127.0.0.1", "--port", "0"], stdout=out, stderr=out)
    try:
        began = time.monotonic()
        said = " * Running on http://127.0.0.1:"
        while said not in log.read_text():
            assert server.poll() is None and time.monotonic() - began < PATIENCE, log.read_text()
            time.sleep(0.1)
        port = int(log.read_text().split(said)[1].split()[0])
        put(port, "/traces")
        yield port, log
    finally:
        server.kill()
        server.wait()


def address(port, key, who="tester:secret"):
    return f"s3://{who}@traces/{key}?endpoint_override=127.0.0.1:{port}&scheme=http&region=us-east-1"


def test_ranges_of_a_table(spark, store, table):
    port, log = store
    _, path = table
    body = path.read_bytes()
    put(port, "/traces/rows.csv", body)
    before = len(log.read_text().splitlines())
    counts = straddle.spark.scan(address(port, "rows.csv"), spark=spark, block=len(body) // 7, columns=MAP, units=["192K"])
    found = counts.answer(units=HELD)
    assert judged(found) == judged(document("trace", path, *FLAGS))
    local = straddle.spark.scan(str(path), spark=spark, block=len(body) // 7, columns=MAP, units=["192K"]).answer(units=HELD)
    assert judged(found) == judged(local)
    asked = [line for line in log.read_text().splitlines()[before:] if "GET /traces/rows.csv" in line]
    assert asked and all(" 206 " in line for line in asked), "ranges, and never the whole object"


def test_row_groups_and_folders(spark, store, tmp_path):
    port, _ = store
    columns = rows(6000)
    half = {name: values[:3000] for name, values in columns.items()}
    rest = {name: values[3000:] for name, values in columns.items()}
    whole = csv(tmp_path / "all.csv", columns)
    put(port, "/traces/day/a.parquet", parquet(tmp_path / "a.parquet", half, 500).read_bytes())
    put(port, "/traces/day/b.csv", csv(tmp_path / "b.csv", rest).read_bytes())
    put(port, "/traces/day/_SUCCESS")
    counts = straddle.spark.scan(address(port, "day"), spark=spark, block=1000, columns=MAP, units=["192K"])
    assert counts.requests == 6000
    found = counts.answer(units=HELD)
    expected = document("trace", whole, *FLAGS)
    assert [place["all"]["grids"] for place in found["places"]] == [place["all"]["grids"] for place in expected["places"]]
    assert [(one["format"], one["requests"]) for one in found["files"]] == [("parquet", 3000), ("csv", 3000)]


def test_a_password_is_told_nobody(spark, store, table):
    port, _ = store
    put(port, "/traces/few.csv", b"offset,length,operation\n0,4096,R\n")
    counts = straddle.spark.scan(address(port, "few.csv", "me:hidden"), spark=spark)
    found = counts.answer()
    assert counts.requests == 1
    assert "hidden" not in str(found)
    assert found["files"][0]["name"] == "s3://traces/few.csv"


def test_what_is_not_there_is_said(spark, store):
    port, _ = store
    with pytest.raises(FileNotFoundError, match="few-and-far.csv"):
        straddle.spark.scan(address(port, "few-and-far.csv"), spark=spark)
