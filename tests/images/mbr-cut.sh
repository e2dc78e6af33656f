# An image cut short: its partition reaches beyond the end.
truncate -s 16M "$1"
printf 'label: dos\nlabel-id: 0x57524144\nstart=2048, size=16384, type=83\n' | sfdisk --no-reread "$1"
truncate -s 8M "$1"
