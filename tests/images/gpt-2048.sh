# A GPT with one partition at 1 MiB and a protective MBR.
truncate -s 16M "$1"
sgdisk --disk-guid=57524144-0000-4000-8000-000000000001 --new=1:2048:18431 \
    --partition-guid=1:57524144-0000-4000-8000-000000000002 "$1"
