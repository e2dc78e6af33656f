"""The page's examples give what the page says. Those on Spark are in test_spark.py."""

import doctest

import straddle
from conftest import examples, run


def test_examples_of_the_page(tmp_path):
    found = examples("docs/python.md")
    assert len(found.examples) >= 20
    assert run(found, tmp_path) == ""


def test_examples_of_the_module():
    assert doctest.testmod(straddle, globs={**vars(straddle)}) == (0, 2)
