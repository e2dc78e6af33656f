# Captured text beside the host that it was captured on: arrays of five levels, volumes of LVM in six shapes and three
# encrypted devices. What the tools print about them gives the layers, places, grids and findings that the kernel's own
# files give.
. "$LAB/helpers.sh"
need mdadm=mdadm pvcreate=lvm2 cryptsetup=cryptsetup-bin sfdisk=fdisk jq=jq
modules raid0 raid1 raid456 raid10 dm-mod dm-crypt dm-raid dm-thin-pool
disks 16 physblk_exp=3 dev_size_mb=16

echo "== stack"
array md0 --level=0 --raid-devices=2 --chunk=64 "${DISKS[@]:0:2}"
array md1 --level=1 --raid-devices=2 --assume-clean --bitmap=none "${DISKS[@]:2:2}"
# Data of this one begins 4 KiB behind a MiB, that of the next at the beginning of its members.
array md5 --level=5 --raid-devices=3 --chunk=64 --assume-clean --bitmap=none --data-offset=1028 "${DISKS[@]:4:3}"
array md6 --level=6 --metadata=0.90 --raid-devices=4 --chunk=64 --assume-clean "${DISKS[@]:7:4}"
array md10 --level=10 --raid-devices=4 --chunk=32 --assume-clean --bitmap=none "${DISKS[@]:11:4}"
partitions "${DISKS[15]}" start=63
quiet pvcreate -qff -y /dev/md0 /dev/md5 /dev/md10 "${DISKS[15]}1"
quiet vgcreate -q -s 1m vg-data /dev/md0 /dev/md5 /dev/md10 "${DISKS[15]}1"
volume() { quiet lvcreate -q -y -Wn -Zn "$@"; }
volume -n pieces -l 20 vg-data /dev/md5
quiet lvextend -q -l +4 vg-data/pieces "${DISKS[15]}1"
volume -n off -l 8 vg-data "${DISKS[15]}1"
volume -n stri-ped -i 2 -I 64k -l 12 vg-data /dev/md0 /dev/md10
volume -n mirror --type raid1 -m1 -l 4 --nosync vg-data /dev/md0 /dev/md5
quiet lvcreate -q -y -Wn -T -L 8m vg-data/pool /dev/md10
quiet lvcreate -q -y -Wn -V 16m -T vg-data/pool -n thin
echo -n pw > /tmp/key
# encrypted NAME DEVICE OPTION...
encrypted() {
    quiet cryptsetup -q luksFormat --key-file /tmp/key --pbkdf-force-iterations 1000 "${@:3}" "$2"
    quiet cryptsetup open --key-file /tmp/key "$2" "$1"
}
encrypted luks1 /dev/md1 --type luks1
encrypted luks2 /dev/md6 --type luks2 --pbkdf pbkdf2 --sector-size 512
# The payload begins 4 KiB behind a stripe unit.
encrypted luks2-4k /dev/mapper/vg--data-stri--ped --type luks2 --pbkdf pbkdf2 --sector-size 4096 --offset 4104

say() { echo "### command: $*"; "$@"; }
{
    say sfdisk -J "${DISKS[15]}"
    for name in md0 md1 md5 md6 md10; do say mdadm --detail /dev/$name; done
    say mdadm --examine "${DISKS[@]:0:15}"
    say pvs --reportformat json --units b -o +pe_start,dev_size
    say vgs --reportformat json --units b -o +vg_extent_size
    say lvs -a --reportformat json --units b \
        -o +segtype,stripes,stripe_size,chunk_size,seg_start_pe,devices,seg_pe_ranges,metadata_lv
    for name in luks1 luks2 luks2-4k; do say cryptsetup status $name; done
    for name in /dev/md1 /dev/md6 /dev/mapper/vg--data-stri--ped; do say cryptsetup luksDump $name; done
} > /tmp/text.txt
[ ! -d /mnt/out ] || cp /tmp/text.txt /mnt/out/
judge /tmp/live.json
judge /tmp/text.json /tmp/text.txt

# What tools cannot say, or say otherwise, is left out on both sides:
# - limits of queues (minimum, optimal and discard sizes, logical sectors of devices that are not disks), which no tool
#   here prints, and the findings that rest on them: STR102 and STR507;
# - that the disks which mdadm only names are described nowhere: STR903 and STR906;
# - the second device that the kernel has for a thin pool, `-tpool` below an alias, where lvs knows one volume;
# - lvol0_pmspare, a reserve that is not active, so that the kernel has no device for it.
# Device-mapper devices go by the name that tools give them, which is their label; those of tools by the last part.
facts='
    .targets[0].stack as $stack
    | def called: if .name | test("^(sd|md)") then null else [.attributes[] | select(.key == "label") | .value.value.text][0] end;
    def short: (called // .name) | sub("^(device |mapper/)"; "") | sub("-tpool$"; "");
    def said($key): [.attributes[] | select(.key == $key) | .value.value | .text // .count // .bytes];
    [$stack | to_entries[] | .key as $id | .value
        | select(.kind != "device" and .kind != "partition")
        | select(short | test("pmspare$") | not)
        | {
            name: short, kind, format,
            size: .size.value,
            below: [.below[] | $stack[.] | short],
            map,
            grids: [.grids[] | select(.role | IN("stripe-unit", "full-stripe", "thin-chunk", "encryption-sector"))
                | [.role, .grid.value.unit, .grid.value.phase]] | unique,
            sectors: [.grids[] | select(.role == "physical-sector")
                | [.grid.value.unit, .grid.value.phase]] | unique,
            level: (said("level") | map(split("_")[0])),
            layout: said("layout"), members: said("members"), data: said("data-members"),
            offsets: (if .kind == "array" and .format != "raid" or .kind == "encryption"
                then said("data-offset") else [] end)
        }
        # The alias lies on the pool of its own name.
        | select(.below != [.name])]
    | sort_by(.name)'
findings='
    .targets[0].stack as $stack
    | [.targets[0].findings[] | select(.code | IN("STR102", "STR507", "STR903", "STR906") | not)
        | ($stack[.layer] | (if .name | test("^(sd|md)") then null else [.attributes[] | select(.key == "label") | .value.value.text][0] end // .name)
            | sub("^mapper/"; "")) as $name
        | "\(.code) \(.severity) \($name)"]
    | sort[]'
jq "$facts" /tmp/live.json > /tmp/live.facts
jq "$facts" /tmp/text.json > /tmp/text.facts
diff -u /tmp/live.facts /tmp/text.facts > /tmp/differ || { cat /tmp/differ >&2; exit 1; }
jq -r '.[] | "\(.name): \(.kind) \(.format), \(.map.shape) on \(.below | join(" ")), grids \(.grids | map("\(.[0]) \(.[1])") | join(", "))"' \
    /tmp/text.facts
echo "== findings"
same findings $'\n'"$(jq -r "$findings" /tmp/live.json)" $'\n'"$(jq -r "$findings" /tmp/text.json)"
