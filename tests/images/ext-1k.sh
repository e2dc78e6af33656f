# ext4 without a table, blocks of 1 KiB.
truncate -s 8M "$1"
mkfs.ext4 -q -F -O ^has_journal -b 1024 -U 57524144-0000-4000-8000-000000000003 \
    -E hash_seed=57524144-0000-4000-8000-000000000004,lazy_itable_init=0 "$1"
