# The commands of the rules' pages for LUKS, dm-integrity and bcache, each carried out, and what it did; and what cryptsetup and the
# kernel refuse. tests/advice/commands.toml says which page has which.
. "$LAB/helpers.sh"
need cryptsetup=cryptsetup-bin integritysetup=cryptsetup-bin make-bcache=bcache-tools mkfs.xfs=xfsprogs pvcreate=lvm2
modules dm-mod dm-crypt dm-integrity bcache
export TEST_DIR=/tmp TEST_DEV=/tmp QA_CHECK_FS=1

disks 2 dev_size_mb=40 physblk_exp=3
disk=${DISKS[0]}
echo -n pw > /tmp/key
key=(--key-file /tmp/key)
cheap=(--pbkdf pbkdf2 --pbkdf-force-iterations 1000)
luks=(-q "${key[@]}" "${cheap[@]}")
field() { cryptsetup luksDump "$disk" | awk -v name="$1:" '$1 == name { print $2; exit }'; }
# refused COMMAND...: it fails; what it says.
refused() {
    if "$@" > /tmp/why 2>&1; then echo "not refused: $*" >&2; return 1; fi
    sed "s|$disk|DISK|g" /tmp/why
}

echo "== larger sectors"
quiet cryptsetup luksFormat --type luks2 --sector-size 512 "$disk" "${luks[@]}"
echo "of a closed volume:"
refused cryptsetup reencrypt -q --sector-size 4096 "${key[@]}" "$disk"
cryptsetup open "$disk" vault "${key[@]}"
quiet mkfs.ext4 -q -b 4096 /dev/mapper/vault 4096
quiet cryptsetup reencrypt -q --sector-size 4096 "${key[@]}" "${cheap[@]}" "$disk"
same "sector" 4096 "$(blockdev --getss /dev/mapper/vault)"
quiet e2fsck -fn /dev/mapper/vault
cryptsetup close vault
same "sector in the header" 4096 "$(field sector)"
echo "XFS with blocks of 4 KiB and sectors of 512:"
quiet cryptsetup luksFormat --type luks2 --sector-size 512 "$disk" "${luks[@]}"
cryptsetup open "$disk" vault "${key[@]}"
quiet mkfs.xfs -q -f -b size=4096 -s size=512 /dev/mapper/vault
refused cryptsetup reencrypt -q --sector-size 4096 "${key[@]}" "$disk"
echo "what the rule says of it:"
straddle check --json --fail-on never /dev/mapper/vault | jq -r '.targets[0].findings[] | select(.code == "STR601") | .notes[]'
echo "what the plan says of an open one:"
straddle fix --only encryption-sector --json "$disk" | jq -r '.left[] | select(.code == "STR601").why'
cryptsetup close vault
straddle fix --only encryption-sector --script cryptsetup "$disk" > /tmp/fix.script
export LUKS_KEY_FILE=/tmp/key
refused sh /tmp/fix.script --yes | grep -o 'what is in it has.*'
cryptsetup open "$disk" vault "${key[@]}"
quiet wipefs -qa /dev/mapper/vault
quiet pvcreate -q /dev/mapper/vault
cryptsetup close vault
refused sh /tmp/fix.script --yes | grep -o 'it holds [^:]*'
rm -rf straddle-fix.*
quiet cryptsetup luksFormat --type luks2 --sector-size 4096 "$disk" "${luks[@]}"
same "sector" 4096 "$(field sector)"

echo "== where the payload begins"
quiet cryptsetup luksFormat --offset 32768 "$disk" --sector-size 4096 "${luks[@]}"
same "offset" 16777216 "$(field offset)"
cryptsetup open "$disk" vault "${key[@]}"
quiet mkfs.ext4 -q -b 4096 /dev/mapper/vault
before=$(blockdev --getsz /dev/mapper/vault)
quiet e2fsck -fp /dev/mapper/vault
quiet resize2fs /dev/mapper/vault 4096
cryptsetup close vault
quiet cryptsetup luksHeaderBackup "$disk" --header-backup-file /tmp/header
quiet cryptsetup reencrypt -q --reduce-device-size 128K "${key[@]}" "${cheap[@]}" "$disk"
same "offset" $((33024 * 512)) "$(field offset)"
cryptsetup open "$disk" vault "${key[@]}"
same "sectors that it lost at its end" 256 $((before - $(blockdev --getsz /dev/mapper/vault)))
quiet e2fsck -fn /dev/mapper/vault
cryptsetup close vault
quiet cryptsetup luksFormat --offset 33024 "$disk" "${luks[@]}"
same "offset" $((33024 * 512)) "$(field offset)"
echo "== begun and finished later"
quiet cryptsetup reencrypt -q --init-only "${key[@]}" "${cheap[@]}" "$disk"
field Requirements || :
quiet cryptsetup reencrypt -q --resume-only "${key[@]}" "$disk"
echo "== LUKS1"
quiet cryptsetup luksFormat --type luks1 "$disk" "${luks[@]}"
quiet cryptsetup convert -q --type luks2 "$disk"
same "version" 2 "$(cryptsetup luksDump "$disk" | awk '$1 == "Version:" { print $2 }')"
quiet wipefs -qa "$disk"

echo "== dm-integrity"
quiet integritysetup format -q --no-wipe "$disk"
quiet integritysetup open --integrity-bitmap-mode "$disk" checked
same "mode in the kernel's table" B "$(dmsetup table checked | cut -d ' ' -f 7)"
quiet integritysetup close checked
lab-blocks zero "$disk"
quiet cryptsetup luksFormat -q "${key[@]}" "${cheap[@]}" --type luks2 --integrity hmac-sha256 --sector-size 4096 --integrity-no-wipe "$disk"
quiet cryptsetup open --integrity-no-journal "$disk" vault "${key[@]}"
quiet cryptsetup close vault
lab-blocks zero "$disk"

echo "== bcache"
quiet make-bcache -B --data-offset 2048 "$disk"
same "first sector of data" 2048 "$(bcache-super-show "$disk" | sed -n 's/^dev.data.first_sector\t*//p')"
echo "$disk" > /sys/fs/bcache/register
wait_until test -e /sys/block/bcache0/bcache/state
echo 1 > /sys/block/bcache0/bcache/detach
wait_until grep -q 'no cache' /sys/block/bcache0/bcache/state
cat /sys/block/bcache0/bcache/state
