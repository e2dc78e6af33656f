# A GPT whose copy at the end of the disk has been overwritten.
truncate -s 16M "$1"
sgdisk --disk-guid=57524144-0000-4000-8000-000000000001 --new=1:2048:18431 \
    --partition-guid=1:57524144-0000-4000-8000-000000000002 "$1"
dd if=/dev/zero of="$1" bs=512 seek=32735 count=33 conv=notrunc
