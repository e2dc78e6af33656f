# dm-crypt with sectors of 4 KiB on LVM stripes, on an md RAID 1, a partition at sector 63 and a whole disk: layers
# and data offsets beside what the makers say of them, and the maps beside the places where writes arrive.
. "$LAB/helpers.sh"
need mdadm=mdadm pvcreate=lvm2 cryptsetup=cryptsetup-bin dmsetup=dmsetup sfdisk=fdisk jq=jq
modules raid1 dm-mod dm-crypt
disks 4 physblk_exp=3
array md0 --level=1 --raid-devices=2 --assume-clean --bitmap=none "${DISKS[@]:0:2}"
partitions /dev/sdc start=63
quiet pvcreate -qff -y /dev/md0 /dev/sdc1 /dev/sdd
quiet vgcreate -q -s 1m vg /dev/md0 /dev/sdc1 /dev/sdd
quiet lvcreate -q -y -Wn -Zn -n data -i 3 -I 64k -l 12 vg
# The payload begins 4 KiB behind a stripe unit.
echo -n pw > /tmp/key
quiet cryptsetup -q luksFormat --type luks2 --pbkdf pbkdf2 --pbkdf-force-iterations 1000 \
    --sector-size 4096 --offset 4104 --key-file /tmp/key /dev/mapper/vg-data
quiet cryptsetup open --key-file /tmp/key /dev/mapper/vg-data secret

report=/tmp/report.json
judge $report /dev/mapper/secret

# Each of these says the same thing in the words of another program.
# layer NAME FILTER: what a filter makes of the layer that has this name or label; $names are the layers below it.
layer() {
    jq -r --arg name "$1" '
        .targets[0].stack as $stack
        | [$stack[] | select(.name == $name or any(.attributes[]; .key == "label" and .value.value.text == $name))][0]
        | [.below[] | $stack[.].name] as $names
        | '"$2" $report
}
named() { # The name of MAJOR:MINOR.
    local path
    path=$(readlink "/sys/dev/block/$1")
    echo "${path##*/}"
}

echo "== layers"
examined=$(mdadm --examine "${DISKS[@]:0:2}" | sed -n 's/ *Data Offset : \([0-9]*\) sectors/\1/p' | xargs)
same "md0, data offsets in sectors (mdadm --examine)" "$examined" \
    "$(layer md0 '[.attributes[] | select(.key == "data-offset") | .value.value.bytes / 512] | join(" ")')"

read -r _ length target stripes chunk one at1 two at2 three at3 < <(dmsetup table vg-data)
same "vg-data, size, unit and stripes (dmsetup table)" \
    "$length $target $chunk $stripes $(named "$one") $at1 $(named "$two") $at2 $(named "$three") $at3" \
    "$(layer vg-data '.map as $map
        | [.size.value / 512, .format, $map.stripe_unit / 512, ($map.starts | length)]
            + [range($map.starts | length) | $names[.], $map.starts[.] / 512] | join(" ")')"

while read -r volume begins; do
    same "$volume, first extent (pvs)" "$begins" \
        "$(layer vg-data ".map.starts[\$names | index(\"${volume##*/}\")]")"
done < <(pvs --noheadings --nosuffix --units b -o pv_name,pe_start)

read -r _ length target _ _ _ device begins _ option < <(dmsetup table secret)
same "secret, size, place and sector (dmsetup table)" "$length $target $(named "$device") $begins $option" \
    "$(layer secret '[.size.value / 512, .format, $names[0], .map.start / 512,
        (.grids[] | select(.role == "encryption-sector") | "sector_size:\(.grid.value.unit)")] | join(" ")')"
same "secret, payload (cryptsetup luksDump)" \
    "$(cryptsetup luksDump /dev/mapper/vg-data | sed -n 's/^\toffset: \([0-9]*\) \[bytes\]/\1/p')" \
    "$(layer secret .map.start)"

echo "== places"
# In the stripes: on all three members, on both sides of a boundary, past the LUKS header.
offsets=(2162176 2162688 2228224 2293760 6291456)
mark /dev/mapper/vg-data "${offsets[@]}"
find_marks "${DISKS[@]}" | sort -n -s > /tmp/found
same "vg-data, marks" $'\n'"$(locate /dev/mapper/secret vg-data "${offsets[@]}")" $'\n'"$(sort -n -u -k 1,1 /tmp/found)"
same "vg-data, copies of marks" "$(($(grep -c ' sda ' /tmp/found) + ${#offsets[@]}))" "$(wc -l < /tmp/found)"

# Through the encryption nothing can be recognised, but what changes on the disks can be seen.
offsets=(0 61440 126976 4096000)
remember "${DISKS[@]}"
for offset in "${offsets[@]}"; do
    quiet dd if=/dev/zero of=/dev/mapper/secret bs=4K count=1 seek=$((offset / 4096)) oflag=direct
done
same "secret, changes" $'\n'"$(written /dev/mapper/secret secret "${offsets[@]/%/+4096}")" $'\n'"$(changed "${DISKS[@]}")"
