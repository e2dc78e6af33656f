# LUKS2 with its payload at 1 MiB and sectors of 4,096 bytes, cut by one sector of 512; without key material.
printf pw >"$1.key"
truncate -s 4M "$1"
cryptsetup luksFormat -q --type luks2 --key-file "$1.key" --pbkdf pbkdf2 --pbkdf-force-iterations 1000 \
    --uuid 57524144-0000-4000-8000-000000000011 --luks2-keyslots-size 256k --offset 2048 --sector-size 4096 "$1"
dd if=/dev/zero of="$1" bs=4096 seek=8 count=64 conv=notrunc
rm "$1.key"
truncate -s -512 "$1"
