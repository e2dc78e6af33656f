# A GPT for 4,096-byte sectors: its header lies at byte 4,096. fdisk chooses the identifiers itself; they are overwritten.
truncate -s 16M "$1"
printf 'g\nn\n1\n256\n2047\nx\ni\n57524144-0000-4000-8000-000000000001\nu\n57524144-0000-4000-8000-000000000002\nr\nw\n' |
    fdisk -b 4096 "$1"
