# The first step of an encryption in place: nothing is encrypted yet, and the first 1 MiB lies behind the rest. Without key
# material.
printf pw >"$1.key"
truncate -s 4M "$1"
cryptsetup reencrypt -q --encrypt --init-only --type luks2 --key-file "$1.key" --pbkdf pbkdf2 --pbkdf-force-iterations 1000 \
    --uuid 57524144-0000-4000-8000-000000000012 --luks2-keyslots-size 512k --reduce-device-size 2M --sector-size 512 "$1"
dd if=/dev/zero of="$1" bs=4096 seek=8 count=128 conv=notrunc
rm "$1.key"
