# A sosreport that sos itself made, beside the host that it was made on: partitions of DOS at sectors 63 and 2048 and of GPT at 34,
# filesystems with and without hints, volumes of LVM on a misaligned partition and striped over two disks, an array with a partition and two
# encrypted devices. What the archive says gives the places and the findings that the kernel's own files give.
. "$LAB/helpers.sh"
need sos=sosreport mdadm=mdadm pvcreate=lvm2 cryptsetup=cryptsetup-bin sfdisk=fdisk parted=parted dumpe2fs=e2fsprogs jq=jq xz=xz-utils
modules raid456 dm-mod dm-crypt loop ext4
disks 12 physblk_exp=3 dev_size_mb=24

echo "== stack"
partitions "${DISKS[0]}" start=63
quiet mkfs.ext4 -q -F -b 4096 "${DISKS[0]}1"
partitions "${DISKS[1]}" start=2048
quiet mkfs.ext4 -q -F -b 4096 -E stride=16,stripe_width=48 "${DISKS[1]}1"
printf '%s\n' 'label: gpt' 'first-lba: 34' 'start=34' | quiet sfdisk -q --force --no-reread --no-tell-kernel "${DISKS[2]}"
blockdev --rereadpt "${DISKS[2]}"
quiet mkfs.ext4 -q -F -b 1024 "${DISKS[2]}1"
array md0 --level=5 --raid-devices=3 --chunk=64 --assume-clean "${DISKS[@]:3:3}"
partitions /dev/md0 start=63
quiet mkfs.ext4 -q -F -b 4096 /dev/md0p1
partitions "${DISKS[6]}" start=63
quiet pvcreate -qff -y "${DISKS[6]}1" "${DISKS[@]:7:2}"
quiet vgcreate -q -s 1m vg.a_b "${DISKS[6]}1" "${DISKS[@]:7:2}"
quiet lvcreate -q -y -Wn -Zn -n off -l 8 vg.a_b "${DISKS[6]}1"
quiet lvcreate -q -y -Wn -Zn -n stri-ped.1 -i 2 -I 64k -l 16 vg.a_b "${DISKS[@]:7:2}"
quiet mkfs.ext4 -q -F -b 4096 /dev/mapper/vg.a_b-off
quiet mkfs.ext4 -q -F -b 4096 -E stride=16,stripe_width=32 /dev/mapper/vg.a_b-stri--ped.1
echo -n pw > /tmp/key
# encrypted NAME DEVICE OPTION...
encrypted() {
    quiet cryptsetup -q luksFormat --key-file /tmp/key --pbkdf-force-iterations 1000 "${@:3}" "$2"
    quiet cryptsetup open --key-file /tmp/key "$2" "$1"
}
partitions "${DISKS[9]}" start=2048
encrypted luks1 "${DISKS[9]}1" --type luks1
partitions "${DISKS[10]}" start=63
encrypted luks2 "${DISKS[10]}1" --type luks2 --pbkdf pbkdf2 --sector-size 512
count=0
for device in "${DISKS[0]}1" "${DISKS[1]}1" "${DISKS[2]}1" /dev/md0p1 /dev/mapper/vg.a_b-off /dev/mapper/vg.a_b-stri--ped.1; do
    count=$((count + 1))
    mkdir -p "/mnt/$count"
    mount "$device" "/mnt/$count"
done

mkdir /tmp/sos
quiet sos report --batch -q --threads 1 --tmp-dir /tmp/sos --log-size 1 -o block,filesys,lvm2,md,devicemapper,scsi
archive=$(echo /tmp/sos/sosreport-*.tar.xz)
[ ! -d /mnt/out ] || cp "$archive" /mnt/out/
judge /tmp/live.json
judge /tmp/sos.json "$archive"

# Left out on both sides:
# - what no command that sos runs prints: limits of the queues of devices that are not disks, and findings that rest on them (STR102, STR103, STR507);
# - that a loop device, or the disk below the guest's own files, is described nowhere (STR903, STR906);
# - that the disks have one table identifier, as the lab makes them, which only text is read for (STR911);
# - the metadata of arrays that only their members have.
places='
    def called: if .name | test("^(sd|md)") then null else [.attributes[] | select(.key == "label") | .value.value.text][0] end;
    def short: (called // .name) | sub("^(device |mapper/)"; "");
    .targets[0].stack as $stack
    | [$stack[] | select(.kind | IN("partition", "encryption", "array", "volume"))
        | select(short | test("^(sd|md|vg|luks)"))
        | "\(short): \(.kind) at \(.placement.value.start) on \([.below[] | $stack[.] | short] | sort | join(" ")), grids \([.grids[]
            | select(.role | IN("stripe-unit", "full-stripe")) | "\(.role) \(.grid.value.unit)"] | sort | unique | join(" "))"]
    | sort[]'
findings='
    def called: if .name | test("^(sd|md)") then null else [.attributes[] | select(.key == "label") | .value.value.text][0] end;
    .targets[0].stack as $stack
    | [.targets[0].findings[] | select(.code | IN("STR102", "STR103", "STR507", "STR903", "STR906", "STR911") | not)
        | "\(.code) \(.severity) \($stack[.layer] | (called // .name) | sub("^mapper/"; ""))"]
    | sort[]'
jq -r "$places" /tmp/live.json > /tmp/live.places
jq -r "$places" /tmp/sos.json > /tmp/sos.places
diff -u /tmp/live.places /tmp/sos.places > /tmp/differ || { cat /tmp/differ >&2; exit 1; }
cat /tmp/sos.places
echo "== findings"
same findings $'\n'"$(jq -r "$findings" /tmp/live.json)" $'\n'"$(jq -r "$findings" /tmp/sos.json)"
