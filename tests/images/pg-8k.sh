# Two pages of a PostgreSQL table: page size 8,192, layout version 4, one page in use and one new. Written by hand, because
# a server is too large a tool for it.
truncate -s 16K "$1"
printf '\000\000\000\000\020\000\000\000\000\000\000\000\030\000\000\040\000\040\004\040\000\000\000\000' |
    dd of="$1" bs=24 count=1 conv=notrunc
