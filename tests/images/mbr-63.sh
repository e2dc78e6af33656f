# One partition at sector 63, as DOS and Windows 2003 made it.
truncate -s 16M "$1"
printf 'label: dos\nlabel-id: 0x57524144\nstart=63, size=16384, type=83\n' | sfdisk --no-reread "$1"
