# A partition of type LUKS whose length is not a multiple of 4,096 bytes.
truncate -s 16M "$1"
printf 'label: gpt\nlabel-id: 57524144-0000-4000-8000-000000000001\nstart=2048, size=20481, uuid=57524144-0000-4000-8000-000000000002, type=CA7D7CCB-63ED-4C53-861C-1742536059CC\n' |
    sfdisk --no-reread "$1"
