"""Documents are those of the command."""

import subprocess
from datetime import timedelta

import pytest
import straddle
from conftest import MAP, REPOSITORY, document, failure


@pytest.fixture(scope="module")
def image(tmp_path_factory):
    """A disk with a partition at sector 63."""
    path = tmp_path_factory.mktemp("image") / "legacy.img"
    with open(path, "wb") as file:
        file.truncate(64 << 20)
    subprocess.run(["/sbin/sfdisk", "--quiet", path], input="label: dos\n63,100000,7\n", text=True, check=True)
    return path


def checked(*arguments):
    """What the command says of targets, without what to type next, which is only its own."""
    found = document("check", *arguments)
    for target in found["targets"]:
        target.pop("next", None)
    return found


def test_check(image):
    assert document("check", image)["targets"][0]["next"]["fix"] == f"straddle fix {image}"
    found = straddle.check(image)
    assert found == checked(image)
    codes = {finding["code"] for target in found["targets"] for finding in target["findings"]}
    assert codes, "sector 63 is misaligned"
    assert straddle.check([image], io=["64K"]) == checked(image, "--io", "64K")


def test_several_targets_and_failures(image):
    missing = image.parent / "missing.img"
    found = straddle.check([image, missing])
    assert found == checked(image, missing)
    assert found["failures"][0]["target"] == str(missing)


def test_check_refuses_what_it_does_not_know(image):
    with pytest.raises(ValueError, match="none of auto, image, file, text, capture, support, archive, place, collection"):
        straddle.check(image, take_as="disk")
    nothing = image.parent / "nothing.txt"
    nothing.write_text("nothing of any tool\n" * 9)
    with pytest.raises(straddle.Error) as found:
        straddle.check(nothing)
    assert str(found.value) in failure("check", nothing)
    with pytest.raises(straddle.Error, match="missing"):
        straddle.check(image, sysroot="/missing/root")


@pytest.mark.parametrize("path", ["msr", "blkparse"])
def test_trace(path):
    path = f"{REPOSITORY}/tests/traces/{path}"
    assert straddle.trace(path) == document("trace", path)


def test_trace_with_everything(table):
    _, path = table
    found = straddle.trace(path, units=["4K", "192K:rmw"], offsets=[0, "64K"], start="63s", relative=True, window=0.005, columns=MAP, devices=2, only=["sda", "sdb"])
    flags = ["--units", "4K,192K:rmw", "--offsets", "0,64K", "--start", "63s", "--relative", "--window", "5ms", "--columns", MAP, "--devices", "2", "--device", "sda,sdb"]
    assert found == document("trace", path, *flags)
    assert found == straddle.trace(path, units=iter(["4K", "192K:rmw"]), offsets=[0, "64K"], start="63s", relative=True, window=timedelta(milliseconds=5), columns=MAP, devices=2, only=["sda", "sdb"])


def test_trace_on_a_stack(table, image):
    _, path = table
    found = straddle.trace(path, stack=image, layer=str(image), columns=MAP)
    assert [place["name"] for place in found["places"]]
    assert found == document("trace", path, "--stack", image, "--layer", image, "--columns", MAP)


def test_errors_have_the_words_of_the_command(table, image):
    _, path = table
    with pytest.raises(straddle.Error) as found:
        straddle.trace(path, stack=image, layer="sdz", columns=MAP)
    assert str(found.value) in failure("trace", path, "--stack", image, "--layer", "sdz", "--columns", MAP)
    with pytest.raises(ValueError) as found:
        straddle.trace(path, units=["520B"])
    assert str(found.value) in failure("trace", path, "--units", "520B")
    with pytest.raises(ValueError) as found:
        straddle.trace(path, offsets=["100B"])
    assert str(found.value) in failure("trace", path, "--offsets", "100B")
    with pytest.raises(ValueError) as found:
        straddle.trace(path, recorder="nobody")
    assert str(found.value) in failure("trace", path, "--as", "nobody")
    assert straddle.trace("/missing")["failures"] == document("trace", "/missing")["failures"] != []
