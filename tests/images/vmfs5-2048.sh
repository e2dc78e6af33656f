# VMFS 5 as ESXi 5 makes it: a GPT, sector 2,048, blocks of 1 MiB.
. ./vmfs.inc
truncate -s 24M "$1"
printf 'label: gpt\nlabel-id: 11111111-2222-3333-4444-555555555555\nstart=2048, size=45056, type=AA31E02A-400F-11DB-9590-000C2911D1B8, uuid=11111111-2222-3333-4444-666666666666\n' |
    sfdisk --no-reread "$1"
vmfs "$1" 1048576 1048576 8192
