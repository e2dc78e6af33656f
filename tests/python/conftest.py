"""What the tests of the module share. `cargo xtask test` builds it and the command, and runs them."""

import doctest
import json
import os
import random
import re
import subprocess
import sys
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parents[2]
COMMAND = Path(os.environ.get("STRADDLE", REPOSITORY / "target/debug/straddle"))

# Seconds after which something hangs for sure. Other tests run beside these and come first: nothing here is known to be quick.
PATIENCE = 1200

# A dozen machines of Java live for some seconds each: compiling what they run once, quickly, takes half the processor time.
os.environ.setdefault("JDK_JAVA_OPTIONS", "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC")


def document(*arguments):
    """What the command prints with --json, whatever its exit status says of it."""
    run = subprocess.run([COMMAND, *map(str, arguments), "--json"], capture_output=True, text=True, cwd=REPOSITORY, timeout=PATIENCE)
    assert run.stdout, run.stderr
    return json.loads(run.stdout)


def failure(*arguments):
    """What the command says on standard error."""
    run = subprocess.run([COMMAND, *map(str, arguments)], capture_output=True, text=True, cwd=REPOSITORY, timeout=PATIENCE)
    assert run.returncode == 2, run.stdout
    return run.stderr


def rows(count, seed=7):
    """Requests of three devices, as columns; every other one goes on where the one before it on its device ended."""
    made = random.Random(seed)
    ends = [0, 0, 0]
    columns = {"time": [], "device": [], "operation": [], "offset": [], "length": []}
    for number in range(count):
        columns["time"].append(number * 1000)
        columns["device"].append(f"sd{'abc'[number % 3]}")
        columns["operation"].append(made.choice("RW"))
        offset = ends[number % 3] if made.random() < 0.5 else made.randrange(1 << 31) * 512
        length = 512 << made.randrange(8)
        ends[number % 3] = offset + length
        columns["offset"].append(offset)
        columns["length"].append(length)
    return columns


def csv(path, columns):
    """The same as a table that the command reads."""
    lines = [",".join(columns)]
    lines += [",".join(map(str, row)) for row in zip(*columns.values())]
    path.write_text("\n".join(lines) + "\n")
    return path


def parquet(path, columns, rows):
    """The same in Parquet, so many rows a group."""
    import pyarrow
    from pyarrow import parquet

    parquet.write_table(pyarrow.table(columns), path, row_group_size=rows)
    return path


MAP = "offset=offset,size=length,op=operation,device=device,time=time:ns"


@pytest.fixture(scope="session")
def table(tmp_path_factory):
    columns = rows(20_000)
    return columns, csv(tmp_path_factory.mktemp("rows") / "rows.csv", columns)


@pytest.fixture(scope="session")
def spark():
    from pyspark.sql import SparkSession

    os.environ["PYSPARK_PYTHON"] = sys.executable
    session = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false").config("spark.driver.host", "127.0.0.1").getOrCreate()
    yield session
    session.stop()


def judged(found):
    """A document without what says where its requests came from."""
    assert found["places"], "nothing was judged"
    return {key: value for key, value in found.items() if key != "files"}


def examples(page, heading=None):
    """The examples of a page below a heading, or of all of it before its section on Spark."""
    text = (REPOSITORY / page).read_text()
    text, _, spark = text.partition("\n## Spark\n")
    text = spark if heading == "Spark" else text
    blocks = re.findall(r"^```python\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)
    return doctest.DocTestParser().get_doctest("\n".join(blocks), {}, page, page, 0)


def run(examples, folder, known=()):
    """Runs examples in a folder; what was said of those that failed."""
    examples.globs.update(known)
    here = os.getcwd()
    os.chdir(folder)
    told = []
    try:
        runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE)
        runner.run(examples, out=told.append, clear_globs=False)
    finally:
        os.chdir(here)
    return "".join(told)


def grids(found):
    """What all devices together do on each grid, whatever follows what."""
    alike = [place["all"]["grids"] for place in found["places"]]
    assert alike and alike[0]
    return alike
