# `straddle fix` for LUKS: volumes in sectors smaller than the disk's, and payloads off the stripes of an array. The script keeps
# what is in them, which is read through the kernel before and after, and the plan's promises are kept.
# For every commit: LUKS2 for its sectors, and LUKS1 for its payload.
# More in a soak.
. "$LAB/helpers.sh"
. "$LAB/fix.sh"
need cryptsetup=cryptsetup-bin mdadm=mdadm
modules dm-mod dm-crypt raid456
only=payload,encryption-sector
echo -n pw > /tmp/key
export LUKS_KEY_FILE=/tmp/key

# repaired WHAT TARGET LENGTH LUKSFORMAT-OPTION...: a volume, its repair, and what stayed.
repaired() {
    local before was
    echo "== $1"
    quiet cryptsetup -q luksFormat --key-file /tmp/key --pbkdf-force-iterations 1000 --uuid 2c6e8f5a-0d3b-4b61-9a6e-5f0d3c1b7a42 "${@:4}" "$2"
    quiet cryptsetup open --key-file /tmp/key "$2" vault
    fill /dev/mapper/vault "$3"
    before=$(sum /dev/mapper/vault "$3")
    quiet cryptsetup close vault
    was=$(cryptsetup luksUUID "$2")
    planned "$2"
    carried_out cryptsetup "$2"
    quiet cryptsetup open --key-file /tmp/key "$2" vault
    alike contents "$before" "$(sum /dev/mapper/vault "$3")"
    quiet cryptsetup close vault
    alike identity "$was" "$(cryptsetup luksUUID "$2")"
    kept "$2"
    cryptsetup luksDump "$2" | awk '$1 == "offset:" || $1 == "sector:" { print $1, $2 }' | head -n 2
    quiet wipefs -a "$2"
}

# Long enough that what cryptsetup reads and writes of headers is little beside it.
disks 4 dev_size_mb=48 physblk_exp=3
repaired "sectors of 512 bytes on one of 4,096" "${DISKS[3]}" $((32 << 20)) --type luks2 --pbkdf pbkdf2 --sector-size 512
quiet mdadm --create /dev/md0 --run --level=5 --raid-devices=3 --chunk=64 --assume-clean --bitmap=none --data-offset=1024K "${DISKS[@]:0:3}"
in_soak repaired "a payload inside a stripe unit" /dev/md0 8388608 --type luks2 --pbkdf pbkdf2 --sector-size 4096 --offset 32776
repaired "LUKS1, a payload inside a stripe unit" /dev/md0 8388608 --type luks1 --align-payload 4104
echo "$ways ways"
