# From a page of a database to the sector of the host's disk: a data file on NTFS on a partition in a virtual disk, which
# is a file in pieces on ext4 on a partition. Every sector of every page says which one it is, so the raw disk tells
# where each lies; straddle must say the same of pages anywhere, and of those that are torn.
. "$LAB/helpers.sh"
need mkfs.ext4=e2fsprogs filefrag=e2fsprogs sfdisk=fdisk jq=jq mkntfs=ntfs-3g qemu-img=qemu-utils qemu-io=qemu-utils \
    wimcapture=wimtools wimapply=wimtools perl=perl-base
modules ext4

PAGES=700
# As SQL Server writes them: page 0 is the file's header, page 1 the first map of free space.
mkdir -p /tmp/root/data
perl -e '
    for my $page (0 .. $ARGV[0] - 1) {
        my $header = pack("CCx30VvCC", 1, $page == 0 ? 15 : $page == 1 ? 11 : 1, $page, 1, 0, 0);
        for my $sector (0 .. 15) {
            my $mark = sprintf("\nmark at %d.\n", $page * 8192 + $sector * 512);
            my $head = $sector == 0 ? $header : "\n";
            print $head . $mark . "x" x (512 - length($head . $mark));
        }
    }' $PAGES > /tmp/root/data/db.mdf

# The guest's disk: NTFS from 1 MiB on.
truncate -s 24M /tmp/guest.raw
partitions_of_file() {
    printf '%s\n' 'label: dos' 'label-id: 0x2ab' 'start=2048, size=45000, type=7' |
        quiet sfdisk -q --no-reread --no-tell-kernel "$1"
}
partitions_of_file /tmp/guest.raw
truncate -s $((45000 * 512)) /tmp/volume
quiet mkntfs -Q -F -q -s 512 -p 2048 -H 255 -S 63 /tmp/volume
quiet wimcapture /tmp/root /tmp/root.wim --compress=none
quiet wimapply /tmp/root.wim /tmp/volume
dd if=/tmp/volume of=/tmp/guest.raw bs=1M seek=1 conv=notrunc,sparse status=none

# Blocks that are written from the last to the first lie so in the file.
backwards() { # FORMAT FILE BLOCK
    local commands=() at
    for ((at = (24 << 20) - $3; at >= 0; at -= $3)); do commands+=(-c "write -q -P 0 $at 4096"); done
    quiet qemu-io -f "$1" "${commands[@]}" "$2"
    quiet qemu-img convert -n --target-is-zero -f raw -O "$1" /tmp/guest.raw "$2"
}
mkdir /tmp/images
quiet qemu-img create -q -f vpc -o force_size=on /tmp/images/guest.vhd 24M
backwards vpc /tmp/images/guest.vhd $((2 << 20))
quiet qemu-img create -q -f vhdx -o block_size=1M /tmp/images/guest.vhdx 24M
backwards vhdx /tmp/images/guest.vhdx $((1 << 20))
# Of every two MiB one is in the parent, and one in the child alone.
cp --sparse=always /tmp/guest.raw /tmp/half.raw
odd=()
for ((at = 1; at < 24; at += 2)); do
    dd if=/tmp/guest.raw of=/tmp/odd.$at bs=1M count=1 skip=$at status=none
    dd if=/dev/zero of=/tmp/half.raw bs=1M count=1 seek=$at conv=notrunc status=none
    odd+=(-c "write -q -s /tmp/odd.$at ${at}M 1M")
done
quiet qemu-img convert -f raw -O qcow2 /tmp/half.raw /tmp/images/base.qcow2
quiet qemu-img create -q -f qcow2 -b base.qcow2 -F qcow2 /tmp/images/guest.qcow2
quiet qemu-io -f qcow2 "${odd[@]}" /tmp/images/guest.qcow2

# copy FILE TO: in turns with another file, so that neither is in one piece.
copy() {
    local piece=$((900 << 10)) size at
    size=$(stat -c %s "$1")
    for ((at = 0; at * piece < size; at++)); do
        dd if="$1" of="$2" bs=$piece count=1 skip=$at seek=$at conv=notrunc,fsync status=none
        dd if=/dev/urandom of="$2.other" bs=20k count=1 seek=$at conv=notrunc,fsync status=none
    done
}

# where FILE BYTE...: for each byte of the data file `BYTE DISK PLACE`, as straddle says; the last report is kept.
where() {
    local file=$1 at
    shift
    for at; do
        straddle check --as file --guest-file /data/db.mdf --where "$at" --json --fail-on never "$file" > /tmp/report.json
        jq -r --arg at "$at" '.targets[0] as $it | $it.places
            | if length == 1 then .[0] else error("\(length) places") end
            | .steps[-1] | "\($at) \($it.stack[.layer].name) \(.offset)"' /tmp/report.json
    done
}

# follow START BLOCK FILE...: the images on ext4 with blocks of BLOCK on a partition at sector START; the last is checked.
follow() {
    local start=$1 block=$2 image name
    shift 2
    disks 1 dev_size_mb=48 physblk_exp=3
    partitions /dev/sda "start=$start"
    quiet mkfs.ext4 -q -F -b "$block" /dev/sda1
    mkdir -p /mnt/host
    mount /dev/sda1 /mnt/host
    for image; do copy "/tmp/images/$image" "/mnt/host/$image"; done
    sync
    name="$image, partition at sector $start"
    image=/mnt/host/$image
    [ "$(filefrag -v "$image" | grep -c '^ *[0-9]*:')" -ge 3 ]

    # All sectors, on the raw disk.
    find_marks /dev/sda | awk '{ print $1, $2, $3 - $3 % 512 }' | sort -n > /tmp/found
    same "$name: sectors found" $((PAGES * 16)) "$(wc -l < /tmp/found)"
    # The two sectors at each place where the disk does not go on; inside a page, first.
    awk 'NR > 1 && $3 != last + 512 { print ($1 % 8192 == 0), $1 - 512; print ($1 % 8192 == 0), $1 }
         { last = $3 }' /tmp/found | sort -n | cut -d ' ' -f 2 > /tmp/breaks
    [ "$(wc -l < /tmp/breaks)" -ge 6 ]
    local bytes=(0 8192 $((8192 * 123)) $((8192 * (PAGES - 1) + 7680)))
    mapfile -t -O 4 bytes < <(head -8 /tmp/breaks)
    alike "$name: sectors predicted" "$(for byte in "${bytes[@]}"; do grep "^$byte " /tmp/found; done)" \
        "$(where "$image" "${bytes[@]}")"

    # A whole page, read where straddle says.
    local page=40 place
    place=$(where "$image" $((page * 8192)))
    quiet cmp <(dd if=/tmp/root/data/db.mdf bs=8192 count=1 skip=$page status=none) \
        <(dd if=/dev/sda bs=8192 count=1 skip="${place##* }" iflag=skip_bytes status=none)
    echo "$name: layers: $(jq -r '.targets[0] as $it
        | [$it.places[0].steps[] | $it.stack[.layer] | .kind] | join(" ")' /tmp/report.json)"
    # The same for people: one table.
    straddle check --as file --guest-file /data/db.mdf --where $((page * 8192)) --fail-on never "$image" |
        sed -n '/^where byte/,/^$/p' > /tmp/table
    same "$name: tables" 1 "$(grep -c '^where byte' /tmp/table)"
    alike "$name: its last line" "${place#* }" "$(awk '$1 == "sda" { gsub(",", ""); print $1, $3 }' /tmp/table)"
    umount /mnt/host
}

follow 63 4096 guest.vhd
follow 2048 1024 guest.vhd
follow 63 4096 guest.vhdx
follow 2048 4096 base.qcow2 guest.qcow2
