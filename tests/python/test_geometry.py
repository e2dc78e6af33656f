from fractions import Fraction
from math import gcd

import pytest
import straddle


def test_the_founding_case():
    found = straddle.crossings("63s", "8K", 8192, "64K")
    assert (found.mean, found.straddling, found.worst_units) == (Fraction(1, 8), Fraction(1, 8), 2)
    aligned = straddle.crossings("1M", "8K", "8K", "64K")
    assert (aligned.mean, aligned.straddling, aligned.worst_units) == (0, 0, 1)


@pytest.mark.parametrize("start, step, length, unit, phase", [(0, 512, 4096, 4096, 0), (32256, 8192, 8192, 65536, 0), (5, 7, 11, 13, 4), (1000, 1000, 3000, 512, 100)])
def test_against_counting(start, step, length, unit, phase):
    """Every request up to where all begins again, and every boundary in it."""
    again = unit // gcd(step, unit)
    inside = []
    for number in range(again):
        first = start + number * step
        inside.append(sum(1 for byte in range(first + 1, first + length) if (byte - phase) % unit == 0))
    found = straddle.crossings(start, step, length, unit, phase)
    assert found.mean == Fraction(sum(inside), again)
    assert found.straddling == Fraction(sum(1 for n in inside if n), again)
    in_part, most = 0, 0
    for number in range(again):
        first = start + number * step - phase
        granules = range(first // unit, (first + length - 1) // unit + 1)
        whole = sum(1 for n in granules if n * unit >= first and (n + 1) * unit <= first + length)
        in_part += len(granules) - whole
        most = max(most, len(granules))
    assert found.partial == Fraction(in_part, again)
    assert found.worst_units == most


def test_first_aligned():
    assert straddle.first_aligned("63s", ["4K", "192K"]) == 196608
    assert straddle.first_aligned(0, ["4K"]) == 0
    assert straddle.first_aligned(1, []) == 1


@pytest.mark.parametrize("unit, words", [("0", "`0` is not between 1 byte and 4 EiB"), ("x", "`x`"), ("8 EiB", "`8 EiB` is not between 1 byte and 4 EiB")])
def test_units_that_are_none(unit, words):
    with pytest.raises(ValueError, match=words):
        straddle.crossings(0, 512, 512, unit)


def test_numbers_that_are_none():
    with pytest.raises((OverflowError, TypeError, ValueError)):
        straddle.crossings(-1, 512, 512, 512)
    with pytest.raises((OverflowError, TypeError, ValueError)):
        straddle.first_aligned(1.5, [512])
    with pytest.raises(ValueError):
        straddle.first_aligned((1 << 64) - 1, [1 << 62])
