# What `integritysetup format` writes to a device of 32 MiB; it needs a kernel with dm-integrity, so it is put by hand.
truncate -s 32M "$1"
printf 'integrt\000\005\017\004\000\002\000\000\000\230\374\000\000\000\000\000\000\030\000\000\000\000\017\000\000' |
    dd of="$1" conv=notrunc
