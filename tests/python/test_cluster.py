"""A cluster of Spark on this machine, a master and two workers: what it counts is what the command counts, also when a worker is lost."""

import json
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pyspark
import pytest
import straddle
from conftest import MAP, PATIENCE, REPOSITORY, csv, document, judged, parquet, rows

HOME = Path(pyspark.__file__).parent
UNITS = ["--units", "4K,64K,192K"]


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def environment():
    return {**os.environ, "SPARK_HOME": str(HOME), "SPARK_LOCAL_IP": "127.0.0.1", "PYSPARK_PYTHON": sys.executable}


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    """The address of a master, and the leaders of the processes of its two workers."""
    port = free_port()
    folder = tmp_path_factory.mktemp("cluster")
    started = []

    def start(name, *arguments):
        log = (folder / f"{name}.log").open("wb")
        command = [HOME / "bin/spark-class", f"org.apache.spark.deploy.{arguments[0]}", "--host", "127.0.0.1", "--webui-port", "0", *arguments[1:]]
        started.append(subprocess.Popen(command, stdout=log, stderr=log, env=environment(), start_new_session=True))
        return started[-1].pid

    address = f"spark://127.0.0.1:{port}"
    start("master", "master.Master", "--port", str(port))
    workers = [start(f"worker{number}", "worker.Worker", "--cores", "1", "--memory", "512m", "--work-dir", str(folder / f"work{number}"), address)
               for number in range(2)]
    began = time.monotonic()
    while (folder / "master.log").read_text().count("Registering worker") < 2:
        assert time.monotonic() - began < PATIENCE, (folder / "master.log").read_text()
        time.sleep(0.2)
    yield address, workers
    for process in started:
        try:
            os.killpg(process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        process.wait()


@pytest.fixture(scope="module")
def trace(tmp_path_factory):
    return csv(tmp_path_factory.mktemp("trace") / "rows.csv", rows(60_000))


@pytest.fixture(scope="module")
def done(tmp_path_factory, cluster, trace):
    """What one driver found in rows of text, in row groups, and in the rows again while a worker was killed, each with the ends of its tasks."""
    address, workers = cluster
    folder = tmp_path_factory.mktemp("driver")
    events = folder / "events"
    events.mkdir()
    groups = parquet(folder / "rows.parquet", rows(60_000), 3000)
    command = [sys.executable, REPOSITORY / "tests/python/spark_job.py", address, events, str(workers[0]), trace, groups, trace]
    run = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, env=environment())
    assert run.returncode == 0, run.stderr[-4000:]
    files = [path for path in events.rglob("events_*") if path.is_file()]
    lines = [json.loads(line) for path in files for line in path.read_text().splitlines()]
    assert lines, "Spark kept no log of what happened"
    ends = [line for line in lines if line["Event"] == "SparkListenerTaskEnd"]
    scans, begun = [], 0
    for line in map(json.loads, run.stdout.splitlines()[-3:]):
        # Scans follow each other: a task is of the one during which it was started.
        own = [end for end in ends if begun <= end["Task Info"]["Launch Time"] < line["done"]]
        scans.append((line["found"], own))
        begun = line["done"]
    assert sum(len(own) for _, own in scans) == len(ends)
    return scans


@pytest.fixture(scope="module")
def said(trace):
    """What the command says of the same rows."""
    return judged(document("trace", trace, *UNITS, "--columns", MAP))


def test_a_cluster_counts_what_the_command_counts(done, said):
    found, ends = done[0]
    assert judged(found) == said
    assert {end["Task End Reason"]["Reason"] for end in ends} == {"Success"}
    # Both did some of it.
    assert len({end["Task Info"]["Executor ID"] for end in ends}) == 2


def test_a_cluster_counts_row_groups_of_parquet(done, said):
    found, ends = done[1]
    assert judged(found) == said
    assert [one["format"] for one in found["files"]] == ["parquet"]
    # Twenty row groups, of which each is more than a task has to have at least.
    first = min(end["Stage ID"] for end in ends)
    assert sum(end["Stage ID"] == first for end in ends) == 20
    assert len({end["Task Info"]["Executor ID"] for end in ends}) == 2


def test_a_worker_that_is_lost_costs_nothing_but_time(done, said):
    found, ends = done[2]
    assert judged(found) == said
    key = lambda end: (end["Stage ID"], end["Task Info"]["Index"])
    lost = {key(end) for end in ends if end["Task End Reason"]["Reason"] == "ExecutorLostFailure"}
    again = {key(end) for end in ends if end["Task End Reason"]["Reason"] == "Success"}
    assert lost, "no task was lost"
    assert lost <= again, "a task that was lost was not repeated"


def test_one_command_submits_a_job(tmp_path, trace):
    program = Path(straddle.__file__).parent / "submit.py"
    command = [HOME / "bin/spark-submit", "--master", "local[2]", "--conf", "spark.ui.showConsoleProgress=true", "--conf", "spark.ui.enabled=false",
               program, "--units", "4K,64K", "--columns", MAP, "--block", "20000", trace]
    run = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, env=environment())
    assert run.returncode == 0, run.stderr[-4000:]
    found = json.loads(run.stdout.splitlines()[-1])
    assert judged(found) == judged(document("trace", trace, "--units", "4K,64K", "--columns", MAP))
