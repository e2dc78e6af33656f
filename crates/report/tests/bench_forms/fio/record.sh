#!/bin/sh
# Records what fio writes, to compare the export with: fio 3.33 made recorded.json, one job that reads and writes.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
scratch=$(mktemp -d "${TMPDIR:-/var/tmp}/fio.XXXXXX")
trap 'rm -rf "$scratch"' EXIT
cd "$scratch"
fio --output-format=json+ --output="$here/recorded.json" --ioengine=psync --direct=1 \
    --name=8K-randrw70-t1-o1 --filename=fio.bin --rw=randrw --rwmixread=70 --bs=8K --size=1M --io_size=64K \
    --iodepth=1 --numjobs=1 --group_reporting
