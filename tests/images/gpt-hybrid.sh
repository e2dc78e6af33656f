# A GPT partition that a hybrid MBR names too.
truncate -s 16M "$1"
sgdisk --disk-guid=57524144-0000-4000-8000-000000000001 --new=1:2048:18431 \
    --partition-guid=1:57524144-0000-4000-8000-000000000002 --hybrid=1 "$1"
