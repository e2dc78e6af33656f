# What encryption, integrity and bcache metadata say on closed devices, beside what the kernel makes of them when they are
# opened: places, sectors, and for dm-integrity the sectors where marks arrive.
. "$LAB/helpers.sh"
need cryptsetup=cryptsetup-bin integritysetup=cryptsetup-bin dmsetup=dmsetup make-bcache=bcache-tools wipefs=util-linux \
    bcache-super-show=bcache-tools jq=jq
modules dm-mod dm-crypt dm-integrity bcache
echo -n pw > /tmp/key
report=/tmp/report.json
# closed DEVICE: what is on the device, by its metadata alone. The kernel's own device is not asked.
closed() { judge $report --as image "$@"; }
# made FILTER: of the highest layer.
made() {
    jq -r '.targets[0].stack | last as $it | $it | '"$1" $report
}
sectors='(.grids[] | select(.role == "encryption-sector") | .grid.value.unit)'

echo "== dm-crypt"
disks 1 dev_size_mb=24
disk=${DISKS[0]}
count=0
crypt() { # OPTION...
    quiet cryptsetup -q luksFormat --pbkdf pbkdf2 --pbkdf-force-iterations 1000 --key-file /tmp/key "$@" "$disk"
    closed "$disk"
    quiet cryptsetup open --key-file /tmp/key "$disk" secret
    local length target begins option
    read -r _ length target _ _ _ _ begins _ option < <(dmsetup table secret)
    option=${option%% *}
    case $option in sector_size:*) option=${option#*:} ;; *) option=512 ;; esac
    quiet cryptsetup close secret
    [ "$target" = crypt ]
    local found
    found=$(made "[.size.value / 512, .map.start / 512, $sectors] | join(\" \")")
    [ "$length $begins $option" = "$found" ] ||
        { echo "$*: dmsetup table has $length $begins $option, the header $found" >&2; exit 1; }
    count=$((count + 1))
}
for align in 8 63 2048 8192; do crypt --type luks1 --align-payload $align; done
for cipher in aes-cbc-essiv:sha256 aes-xts-plain64; do crypt --type luks1 --cipher $cipher --key-size 256; done
for size in 512 1024 2048 4096; do
    for offset in 32768 33024 40960; do crypt --type luks2 --sector-size $size --offset $offset; done
done
for metadata in 16k 64k 1m; do crypt --type luks2 --luks2-metadata-size $metadata; done
for keys in 512k 4m; do crypt --type luks2 --luks2-keyslots-size $keys; done
echo "size, place and sector as dmsetup table has them: $count volumes"

echo "== dm-integrity"
count=0
# Where the pieces begin and end, and in the first and the last.
integrity() { # OPTION...
    lab-blocks zero "$disk"
    quiet integritysetup -q format --no-wipe "$@" "$disk"
    quiet integritysetup open "${opening[@]}" "$disk" checked
    local size
    size=$(blockdev --getsize64 /dev/mapper/checked)
    closed "$disk"
    local block
    block=$(integritysetup dump "$disk" | sed -n 's/^sector_size //p')
    [ "$size $block" = "$(made "[.size.value, $sectors] | join(\" \")")" ] ||
        { echo "$*: size $size, block $block, but the superblock gives $(made .size.value)" >&2; exit 1; }
    local interleave last
    interleave=$(integritysetup dump "$disk" | sed -n 's/^log2_interleave_sectors //p')
    interleave=$((512 << interleave))
    last=$(((size - 1) / 4096 * 4096))
    [ "$last" -le $((size - 4096)) ] || last=$((last - 4096))
    local offsets=(0 $((interleave - 4096)) $interleave $((interleave + 8192)) $last)
    local marked=()
    local offset
    for offset in "${offsets[@]}"; do [ "$offset" -gt "$last" ] || marked+=("$offset"); done
    mark_blocks /dev/mapper/checked "${marked[@]}"
    sync
    quiet integritysetup close checked
    local found expected
    # The journal keeps its copy: of each mark, the place that is not in it counts.
    found=$(find_marks "$disk" | awk -v first="$(made '.map.first_segments[0].lower')" '$3 >= first' | sort -n -u)
    expected=$(locate "$disk" integrity "${marked[@]}" | sort -n -u)
    [ "$found" = "$expected" ] ||
        { printf '%s: marks at\n%s\nexpected at\n%s\n' "$*" "$found" "$expected" >&2; exit 1; }
    count=$((count + 1))
}
opening=()
for interleave in 1024 4096 32768; do integrity --interleave-sectors $interleave; done
for sector in 1024 2048 4096; do integrity --sector-size $sector --interleave-sectors 2048; done
integrity --tag-size 32 --integrity sha256 --sector-size 4096 --interleave-sectors 2048
integrity --journal-size 1048576 --interleave-sectors 8192
opening=(--integrity-bitmap-mode)
integrity --interleave-sectors 2048
echo "size, block and the places of marks: $count devices"

echo "== LUKS2 with integrity"
quiet cryptsetup -q luksFormat --type luks2 --pbkdf pbkdf2 --pbkdf-force-iterations 1000 --key-file /tmp/key \
    --cipher aes-xts-plain64 --integrity hmac-sha256 --sector-size 4096 --integrity-no-wipe "$disk"
closed "$disk"
quiet cryptsetup open --key-file /tmp/key --integrity-no-journal "$disk" secret
alike "size (blockdev)" "$(blockdev --getsize64 /dev/mapper/secret)" "$(made .size.value)"
quiet cryptsetup close secret
same "layers" "device encryption/integrity encryption/luks2" \
    "$(jq -r '[.targets[0].stack[] | if .format then "\(.kind)/\(.format)" else .kind end] | join(" ")' $report)"

echo "== bcache"
disks 2 dev_size_mb=32
count=0
for offset in 16 24 63 2048 8192; do
    quiet wipefs -qa "${DISKS[0]}"
    quiet make-bcache -w 4k -B -o $offset "${DISKS[0]}"
    closed "${DISKS[0]}"
    [ "$(bcache-super-show "${DISKS[0]}" | sed -n 's/^dev.data.first_sector\t*//p')" = "$(made '.map.start / 512')" ]
    [ -z "$(jq '.targets[0].stack[].oddities[] | select(.kind == "damaged")' $report)" ]
    count=$((count + 1))
done
echo "data offsets as bcache-super-show has them: $count devices"
quiet wipefs -qa "${DISKS[@]}"
quiet make-bcache -w 4k -b 16k -o 2048 -B "${DISKS[0]}" -C "${DISKS[1]}"
for disk in "${DISKS[@]}"; do echo "$disk" > /sys/fs/bcache/register; done
wait_until [ -e /sys/block/bcache0/bcache/state ]
set=$(bcache-super-show "${DISKS[1]}" | sed -n 's/^cset.uuid\t*//p')
[ "$(cat /sys/block/bcache0/bcache/state)" != "no cache" ] || echo "$set" > /sys/block/bcache0/bcache/attach
size=$(blockdev --getsize64 /dev/bcache0)
mark_blocks /dev/bcache0 8192
for disk in "${DISKS[@]}"; do cp --sparse=always "$disk" "/tmp/${disk##*/}.img"; done
closed /tmp/sda.img /tmp/sdb.img
same "below" "sda.img sdb.img" "$(jq -r '.targets[0].stack as $s | $s[-1].below | map($s[.].name | sub(".*/"; "")) | join(" ")' $report)"
alike "size (blockdev)" "$size" "$(made .size.value)"
same "marks" "8192 $(($(made .map.start) + 8192))" "$(find_marks "${DISKS[0]}" | cut -d ' ' -f 1,3)"
