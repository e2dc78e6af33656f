# The same, opened with a bitmap: what `integritysetup open --integrity-bitmap-mode` leaves on a device of 32 MiB.
truncate -s 32M "$1"
printf 'integrt\000\005\017\004\000\002\000\000\000\230\374\000\000\000\000\000\000\034\000\000\000\000\017\000\000' |
    dd of="$1" conv=notrunc
