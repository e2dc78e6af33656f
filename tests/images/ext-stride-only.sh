# ext4 that knows its stripe unit of 64 KiB and not how many data members there are.
truncate -s 8M "$1"
mkfs.ext4 -q -F -O ^has_journal -b 4096 -U 57524144-0000-4000-8000-000000000003 \
    -E stride=16,stripe_width=64,hash_seed=57524144-0000-4000-8000-000000000004,lazy_itable_init=0 "$1"
# mkfs sets a width of its own beside a stride.
tune2fs -E stripe_width=0 "$1"
