# One partition at sector 64: 32 KiB, half of a 64 KiB stripe unit.
truncate -s 16M "$1"
printf 'label: dos\nlabel-id: 0x57524144\nstart=64, size=16384, type=83\n' | sfdisk --no-reread "$1"
