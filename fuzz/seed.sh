#!/bin/sh
# Makes the seed corpora: fuzz/corpus/TARGET/NAME, a few KiB each, named for what they are.
#
#   fuzz/seed.sh                                          makes all of them again
#   cargo +nightly fuzz run gpt fuzz/found/gpt fuzz/corpus/gpt -- -max_total_time=60
#                                                         fuzzes; what it finds goes to fuzz/found, not to the seeds
#   cargo test -p straddle-probe --test tests corpora          replays all corpora on a stable compiler
#
# The heads of real images come from the tools named in each line; hostile ones are real ones with single fields changed
# (checksums mended, or the reader would stop there). Needs the Debian packages fdisk, gdisk, parted, xxd, gzip,
# e2fsprogs, dosfstools, exfatprogs, ntfs-3g, perl, xfsprogs, btrfs-progs, qemu-utils, util-linux, wimtools,
# mariadb-server-core, wiredtiger, gawk or mawk.
# Tools put random identifiers and the time into what they make where no option fixes them.
set -eu
export LC_ALL=C E2FSPROGS_FAKE_TIME=1700000000 SOURCE_DATE_EPOCH=1700000000
PATH=$PATH:/sbin:/usr/sbin
cd "$(dirname "$0")"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
image=$work/image
uuid=11111111-2222-3333-4444-555555555555

# blank SIZE: a new image
blank() { rm -f "$image"; truncate -s "$1" "$image"; }
# put OFFSET HEX: bytes of the image
put() { printf %s "$2" | xxd -r -p | dd of="$image" bs=1 seek="$1" conv=notrunc status=none; }
# le WIDTH NUMBER: the number as hexadecimal bytes, low byte first
le() { printf "%0$(($1 * 2))x" "$2" | fold -w2 | tac | tr -d '\n'; }
# seal OFFSET: mends the checksum of the GPT header there (gzip ends with the CRC-32, low byte first)
seal() {
    put $(($1 + 16)) 00000000
    put $(($1 + 16)) "$(dd if="$image" bs=1 skip="$1" count=92 status=none | gzip -c | tail -c8 | head -c4 | xxd -p)"
}
# both FIELD HEX: changes a field in both headers of the 72-sector image
both() { for header in 512 36352; do put $((header + $1)) "$2"; seal $header; done; }
# keep TARGET... NAME [BYTES]: the image, or its head, becomes a seed of every TARGET
keep() {
    targets=$1 name=$2 bytes=${3:-}
    for target in $targets; do
        mkdir -p "corpus/$target"
        if [ -n "$bytes" ]; then head -c "$bytes" "$image"; else cat "$image"; fi >"corpus/$target/$name"
    done
}
# thin TARGET NAME: what is not zero of the image becomes a seed (src/sparse.rs)
thin() {
    mkdir -p "corpus/$1"
    perl -e '
        local $/; open my $file, "<:raw", $ARGV[0] or die; my $bytes = <$file>; binmode STDOUT;
        print "sparse- ", pack("Q<", length $bytes);
        while ($bytes =~ /\G(?:\0{16})*+/gc && $bytes =~ /\G((?:(?!\0{16}).{16}){1,4000})/gcs) { print pack("L<S<", $-[0], length $1), $1 }
    ' "$image" >"corpus/$1/$2"
}
# sgdisk waits a second after each run: one image for all
gpt() {
    rm -f "$image"
    if [ -e "$work/gpt" ]; then cp "$work/gpt" "$image"; return; fi
    blank 36K
    sgdisk -a1 -U $uuid -n1:34:35 -u1:$uuid -c1:first -n2:36:38 -u2:$uuid -t2:0700 "$image" >/dev/null
    cp "$image" "$work/gpt"
}
mbr() { blank 24K; printf 'label: dos\nlabel-id: 0x12345678\n2,5\n10,30,E\n12,3\n20,4\n30,5\n' | sfdisk -q "$image"; }

rm -rf corpus

# GPT
gpt; keep 'gpt inspect' sgdisk
blank 1M; printf 'label: gpt\nlabel-id: %s\nfirst-lba: 34\nstart=34,size=2,type=L,uuid=%s,name="a b"\n' $uuid $uuid | sfdisk -q "$image"
keep gpt sfdisk-backup-cut-off 18432
blank 128K; printf 'g\nn\n\n\n\nw\n' | fdisk -b 4096 "$image" >/dev/null 2>&1; keep gpt fdisk-4096
for size in 0 1 130 256 512; do gpt; both 84 "$(le 4 $size)"; keep 'gpt inspect' entry-size-$size; done
gpt; both 84 00000080; keep 'gpt inspect' entry-size-2p31
gpt; both 80 ffffffff; keep 'gpt inspect' entries-4294967295
gpt; both 80 ffffffff; both 84 00020000; both 40 ffffffffffffffff; keep gpt entries-4294967295-of-512
gpt; both 80 00000000; keep gpt entries-0
gpt; both 72 ffffffffffffffff; keep 'gpt inspect' entry-lba-max
gpt; both 72 0000000000000000; keep gpt entry-lba-0
gpt; both 40 ffffffffffffffff; both 48 0000000000000000; keep gpt usable-backwards
gpt; both 12 ffffffff; keep gpt header-size-max
gpt; both 12 00000000; keep gpt header-size-0
gpt; put $((512 + 32)) ffffffffffffffff; seal 512; keep gpt backup-lba-max
gpt; put $((512 + 32)) 0100000000000000; seal 512; keep gpt backup-is-primary
gpt; put $((1024 + 40)) ffffffffffffffff; keep 'gpt inspect' partition-end-max
gpt; put $((1024 + 32)) 2500000000000000; put $((1024 + 40)) 2600000000000000; keep 'gpt inspect' overlap
gpt; dd if=/dev/zero of="$image" bs=512 seek=1 count=33 conv=notrunc status=none; keep 'gpt inspect' primary-gone
gpt; dd if=/dev/zero of="$image" bs=512 count=34 conv=notrunc status=none; keep 'gpt inspect' only-backup
gpt; put $((512 + 56)) 00; keep gpt primary-checksum
gpt; put $((36352 + 88)) 00000000; seal 36352; keep gpt copies-differ
gpt; put 462 00000000070000002200000002000000; keep 'gpt mbr inspect' hybrid
gpt; put 450 83; keep 'gpt mbr inspect' unprotected
gpt; keep 'gpt inspect' truncated 20000
gpt; keep gpt truncated-in-header 600
gpt; truncate -s 40K "$image"; keep gpt grown

# MBR
mbr; keep 'mbr inspect' sfdisk
blank 24K; parted -s -a none "$image" mklabel msdos mkpart primary 2s 5s mkpart extended 10s 40s mkpart logical 12s 20s 2>/dev/null
keep mbr parted
# sfdisk puts the records at sectors 10, 19 and 29; their second entry is the link, relative to sector 10
link() { put $(($1 * 512 + 462)) "0000000005000000$(le 4 "$2")02000000"; }
mbr; link 29 9; keep 'mbr inspect' ebr-loop
mbr; link 10 0; keep 'mbr inspect' ebr-loop-on-itself
mbr; link 10 4294967295; keep mbr ebr-past-end
mbr; link 10 5; keep mbr ebr-unsigned
mbr; link 10 19; link 29 9; put $((19 * 512 + 462)) 00000000000000000000000000000000; keep 'mbr inspect' ebr-backwards
mbr; put 454 "$(le 4 11)"; keep 'mbr inspect' overlap
mbr; put 454 ffffffffffffffff; keep 'mbr inspect' start-and-length-max
mbr; put 478 00000000050000001300000008000000; keep mbr two-extended
mbr; put 446 81; keep mbr flag-81
mbr; put 0 c9c2d4c1; keep mbr aix
mbr; keep 'mbr inspect' truncated 10000
blank 512; put 510 55aa; keep 'mbr inspect' only-signature

# BSD and Solaris
blank 64K; parted -s "$image" mklabel bsd mkpart 20s 60s mkpart 61s 100s 2>/dev/null; keep 'bsd inspect' parted
put 202 ffff; keep bsd partitions-65535
blank 1M; printf 'o\nn\np\n1\n63\n\nt\na5\nb\ny\nn\na\n63\n500\nt\na\n7\nw\nr\nw\n' | fdisk "$image" >/dev/null 2>&1 || true
keep inspect fdisk-bsd-in-mbr 65536
rest=$work/rest; tail -c +$((63 * 512 + 1)) "$image" >"$rest"; mv "$rest" "$image"; keep bsd fdisk 2048
put $((512 + 40)) 00000000; keep bsd sector-size-0 2048
put $((512 + 40)) 01000080; keep bsd sector-size-2p31 2048
keep bsd truncated 1030
vtoc() {
    blank 64K
    put 524 "eedeed0d"; put 524 "$(le 4 $((0x600ddeee)))01000000"; put 540 00021000
    put 584 "0200000010000000200000000000000000000000000000000500000000000000800000000400000030000000ffffffff"
}
vtoc; keep vtoc slices 2048
put 528 02000000; keep vtoc version-2 2048
vtoc; put 542 ffff; keep vtoc slices-65535 2048
vtoc; put 1020 beda; keep vtoc bad-sum 2048
vtoc; keep vtoc truncated 1024
blank 64K; printf 'label: dos\n1,100,bf\n' | sfdisk -q "$image"; put $((512 + 524)) eede0d6001000000; put $((512 + 540)) 00021000
put $((512 + 584)) 02000000100000002000000; keep inspect vtoc-in-mbr

# Labels of other machines
sun() { blank 64M; parted -s -a none "$image" mklabel sun mkpart ext4 8M 24M mkpart ext4 24M 48M 2>/dev/null; }
sun; keep 'sun inspect' parted 512
put 436 ffffffff; keep sun geometry-max 512
sgi() { blank 64M; parted -s -a none "$image" mklabel dvh mkpart primary ext4 8M 24M mkpart primary ext4 24M 48M 2>/dev/null; }
sgi; keep 'sgi inspect' parted 512
put 312 ffffffffffffffff; keep sgi start-and-length-max 512
atari() { blank 1M; parted -s -a none "$image" mklabel atari mkpart primary ext2 100s 299s mkpart primary ext2 300s 999s; }
atari; thin atari parted; thin inspect atari
put 467 58474d00000800; thin atari chain-without-end
# "VOL1" twice and a serial number, the VTOC in track 1: formats 4, 5, 7 and 1
blank 128K; put 8192 e5d6d3f1e5d6d3f1f0e7f0f1f5f0; put 8207 0000000101; put 49196 f4; put 49216 000f; put 53292 f5; put 57388 f7
put 61484 f1; put 61545 01000000000200000002; thin dasd cdl; thin inspect dasd-cdl
put 8207 ffffffffff; thin dasd vtoc-beyond-the-end
blank 32K; put 8192 d3d5e7f1f0e7f0f1f5f0; put 8271 f2ffffffffffffffff; thin dasd ldl-blocks-max
apple() { blank 1M; parted -s -a none "$image" mklabel mac mkpart one 100s 300s mkpart two 400s 900s 2>/dev/null; }
apple; keep 'apple inspect' parted 8192
put 516 ffffffff; keep apple entries-4294967295 8192
blank 64K; put 24 0100008000000000; put 32 4e58534200100000; put 40 1000000000000000; keep 'apfs inspect' head 4096
blank 64K; put 1024 482b0004; put 1064 0000100000000010; keep 'hfsplus inspect' head 4096
blank 8K; put 7680 6b6f6c79; keep 'dmg inspect' trailer

# bcachefs: a superblock of one device without a checksum, by hand, with the magic of its own and that of bcache
bcachefs() {
    blank 128K; put 4112 04040404; put 4120 "$1"; put 4200 0800000000000000; put 4216 0800000110000000; put 4848 0800000001000000
    put 4872 4000000000000000; put 4882 0001
}
bcachefs c68573f666ce90a9d96a60cf803df7ef; thin bcachefs own-magic; thin inspect bcachefs
put 4220 ffffffff; thin bcachefs fields-max
bcachefs c68573f64e1a45ca8265f57f48ba6d81; thin bcachefs magic-of-bcache; put 4219 ff; thin bcachefs devices-255

# Filesystems and swap: heads of what the tools make
blank 2M; mkntfs -Fqf -c 4096 -p 63 "$image" >/dev/null 2>&1; keep 'ntfs inspect' mkntfs-4k 8192
# The MFT's first record lies further in: a volume with its clusters brought near.
keep ntfs boot-sector-only 512
put 11 0000; keep ntfs sector-size-0 8192
put 11 0002; put 13 00; keep ntfs cluster-size-0 8192
put 13 80; put 48 ffffffffffffffff; keep ntfs mft-lba-max 8192
put 13 f4; put 64 80; keep ntfs record-size-negative 8192
for bits in 12 16 32; do
    blank 40M; mkfs.vfat -F $bits -i 12345678 --invariant "$image" >/dev/null 2>&1; keep 'fat inspect' mkfs-fat$bits 4096
    put 13 00; keep fat fat$bits-cluster-size-0 4096
    put 13 ff; put 14 ffff; put 22 ffff; keep fat fat$bits-reserved-65535 4096
    put 11 0000; keep fat fat$bits-sector-size-0 4096
    put 11 ffff; put 16 00; keep fat fat$bits-tables-0 4096
done
blank 8M; mkfs.exfat "$image" >/dev/null 2>&1; keep 'exfat inspect' mkfs 12288
put 108 ff; keep exfat sector-shift-255 12288
put 108 09; put 109 ff; keep exfat cluster-shift-255 12288
put 64 ffffffffffffffff; put 88 ffffffff; keep exfat offsets-max 12288
for type in ext2 ext3 ext4; do
    blank 4M; mke2fs -q -F -t $type -U $uuid -E hash_seed=$uuid "$image" >/dev/null 2>&1; keep 'ext inspect' mkfs-$type 4096
done
blank 64M; mke2fs -q -F -t ext4 -b 4096 -O bigalloc -C 65536 -U $uuid -E hash_seed=$uuid,stride=16,stripe_width=48 "$image" >/dev/null 2>&1
keep ext bigalloc-stride 4096
put $((1024 + 24)) ffffffff; keep ext block-shift-max 4096
put $((1024 + 24)) 02000000; put $((1024 + 28)) ffffffff; keep ext cluster-shift-max 4096
put $((1024 + 32)) 00000000; put $((1024 + 40)) 00000000; keep ext per-group-0 4096
keep ext truncated 1100
blank 1G; mkfs.xfs -q -f -m uuid=$uuid -l size=64m -d su=64k,sw=3 "$image" >/dev/null 2>&1; keep 'xfs inspect' mkfs-su-sw 4096
put 4 00000000; keep xfs block-size-0 4096
put 4 ffffffff; put 102 ffff; put 120 ff; keep xfs sizes-max 4096
blank 128M; mkfs.btrfs -q -f -U $uuid "$image" >/dev/null 2>&1; keep 'btrfs inspect' mkfs 69632
put $((65536 + 0x90)) 0000000000000000; keep btrfs sector-size-0 69632
put $((65536 + 0x90)) ffffffffffffffff; put $((65536 + 0xa0)) ffffffff; keep btrfs sizes-max 69632
keep btrfs truncated 65700
blank 1M; mkswap -U $uuid "$image" >/dev/null 2>&1; keep 'swap inspect' mkswap 8192
put 1028 ffffffff; keep swap last-page-max 8192
blank 1M; mkswap -p 65536 -U $uuid "$image" >/dev/null 2>&1 || mkswap "$image" >/dev/null 2>&1; keep swap mkswap-64k 66000
# ReFS and SQL Server have no tools here: their first fields, by their documentation.
refs() { blank 64K; put 3 5265465300000000; put 16 "46535253000200000000000001000000000200000800000003040000"; put 24 "$(le 8 131072)$(le 4 512)$(le 4 8)0304"; }
refs; keep 'refs inspect' v3.4 4096
put 32 00000000; keep refs sector-size-0 4096
put 32 ffffffffffffffff; keep refs sizes-max 4096
keep refs truncated 20
blank 64K; put 0 010f0000; put 36 0100; put 8192 010b0000; put 8224 010000000100; keep 'sqlserver inspect' pages-8192 32768
keep sqlserver truncated 5000
blank 64K; for page in 0 8192 16384; do put $page "0000000028d45d01000000001c00d81f0020042000000000d89f4e00"; done
keep 'postgresql inspect' pages-8192 32768
put 18 ffff; keep postgresql page-size-max 32768
keep postgresql truncated 20

# Containers. Small ones: what is in the blocks does not matter, the tables do.
vdi() { blank 3M; put 1048576 55; put 3145720 aa; qemu-img convert -O vdi "$@" "$image" "$image.out"; mv "$image.out" "$image"; put 392 11111111222233334444555555555555; }
vdi; keep vdi dynamic 4096
vdi -o static=on; keep vdi fixed 4096
put $((0x178)) 00000000; keep vdi block-size-0 4096
put $((0x178)) 00000001; put $((0x170)) ffffffffffffff7f; keep vdi disk-size-max 4096
vdi; put $((0x180)) ffffffff; put $((0x170)) 0000000000000010; keep vdi table-beyond-the-file 4096
vdi; put $((0x154)) ffffffff; keep vdi table-offset-max 4096
vdi; put 512 000000000000000000000000; keep vdi blocks-overlap 4096
keep vdi truncated 500
vdi; put $((0x44)) 01000000; keep vdi version-0 4096
vdi; put $((0x44)) 00000100; keep vdi version-1.0 4096
vdi; put $((0x4c)) 04000000; put $((0x1a8)) 77777777888888889999999999999999; keep vdi differencing 4096
put $((0x4c)) 03000000; keep vdi undo 4096
put $((0x4c)) 09000000; keep vdi kind-9 4096
vdi; put $((0x158)) 08020000; keep vdi data-over-table 4096
vdi; put $((0x154)) 40000000; keep vdi table-in-header 4096
vdi; put $((0x17c)) 64000000; keep vdi extra-100 4096
put $((0x17c)) ffffffff; keep vdi extra-max 4096
vdi; put $((0x17c)) 0000f8ff; put 512 fcffffff; keep vdi extra-overflows 4096
vdi; put $((0x184)) ffffffff; keep vdi allocated-max 4096
vdi; put 512 fdffffff; keep vdi block-beyond-the-file 4096
vdi; put $((0x168)) 00100000; keep vdi sectors-4096 4096
vdi; put $((0x48)) 00000000; keep vdi header-length-0 4096

# VMDK by hand: 40 sectors in grains of 8, 4 to a table; descriptor at sector 1, directory at 3, its table at 4, the second
# ones at 5 and 6. vmdk FLAGS
vmdk() {
    blank 16K
    put 0 "4b444d56$(le 4 1)$(le 4 "$1")$(le 8 40)$(le 8 8)$(le 8 1)$(le 8 2)$(le 4 4)$(le 8 5)$(le 8 3)$(le 8 8)000a200d0a0000"
    put 512 "$(printf '# Disk DescriptorFile\nversion=1\nCID=0d249be9\nparentCID=ffffffff\ncreateType="monolithicSparse"\nRW 40 SPARSE "a.vmdk"\nddb.adapterType = "ide"\nddb.geometry.cylinders = "2"\nddb.geometry.heads = "16"\nddb.geometry.sectors = "63"\n' | xxd -p | tr -d '\n')"
    put 1536 04000000; put 2048 00000000100000000800000018000000
    put 2560 06000000; put 3072 00000000100000000800000018000000
}
vmdk 3; keep vmdk small
vmdk 7; put 2060 01000000; put 3084 01000000; keep vmdk zeroed-grain
put 44 00000000; keep vmdk per-table-0
put 44 ffffffff; keep vmdk per-table-max
vmdk 3; put 4 04000000; keep vmdk version-4
vmdk 3; put 12 ffffffffffffffff; keep vmdk capacity-max
put 12 ffffffffffff7f00; keep vmdk capacity-2p55
vmdk 3; put 20 0000000000000000; keep vmdk grain-0
put 20 0300000000000000; keep vmdk grain-3
put 20 ffffffffffffffff; keep vmdk grain-max
vmdk 3; put 28 ffff; keep vmdk descriptor-beyond-the-file
vmdk 3; put 36 ffffffffffffffff; keep vmdk descriptor-length-max
vmdk 3; put 56 ffff; keep vmdk first-directory-gone
put 48 ffff; keep vmdk directory-beyond-the-file
vmdk 3; put 48 ffffffffffffff7f; put 56 ffffffffffffff7f; keep vmdk directory-offset-max
vmdk 3; put 12 0000100000000000; put 56 1f; keep vmdk directory-ends-beyond-the-file
vmdk 3; put 1536 03000000; keep vmdk table-in-directory
vmdk 3; put 1536 0400000004000000; keep vmdk tables-shared
vmdk 3; put 1536 04000000ffffffff; keep vmdk table-beyond-the-file
vmdk 3; put 2048 04000000030000000400000003000000; keep vmdk grains-over-tables
vmdk 3; put 2048 ffffffff; keep vmdk grain-beyond-the-file
vmdk 3; put 3072 09; keep vmdk copies-differ
vmdk 3; put 72 01; keep vmdk unclean
vmdk 3; put 73 0a200a00; keep vmdk sent-as-text
vmdk 3; keep vmdk truncated-in-header 70
keep vmdk truncated-in-table 2055
# A disk of 8 GiB in a file of 48 KiB: the same table 1,024 times.
vmdk 1; truncate -s 48K "$image"; put 12 0000000100000000; put 44 00020000; put 56 40; put 20 20; put 32768 "$(yes 04000000 | head -1024 | tr -d '\n')"; keep vmdk table-used-1024-times
# A stream: a grain at sector 8, its table at 20, the directory at 22, the footer at 24.
# packed BYTES: a marker and a zlib stream of so many zeroes; its Adler-32 is 1 in the low half, the length in the high one
packed() {
    head -c "$1" /dev/zero | gzip -9n | tail -c +11 | head -c -8 >"$work/deflated"
    printf '0000000000000000%s78da%s%04x0001' "$(le 4 $(($(wc -c <"$work/deflated") + 6)))" "$(xxd -p "$work/deflated" | tr -d '\n')" $(($1 % 65521))
}
stream() {
    vmdk 0; truncate -s 13K "$image"
    put 8 01000300; put 12 1000; put 56 ffffffffffffffff; put 77 0100
    put 1536 "$(printf '%01024d' 0)"; put 2048 "$(printf '%01024d' 0)"; put 2560 "$(printf '%01024d' 0)"; put 3072 "$(printf '%01024d' 0)"
    put 4096 "$(packed "$1")"; put 10240 0800000000000000; put 11264 14000000
    put 11776 00000000000000000000000003000000
    dd if="$image" of="$image" bs=512 count=1 seek=24 conv=notrunc status=none; put $((24 * 512 + 56)) 1600000000000000
}
stream 4096; keep vmdk stream
put $((24 * 512 + 77)) 0200; keep vmdk stream-algorithm-2
stream 4096; keep vmdk stream-cut-off 12000
put $((24 * 512 + 56)) ffffffffffffffff; keep vmdk stream-footer-names-itself
stream 1048576; keep vmdk stream-bomb
stream 4096; put 4104 ffffffff; keep vmdk stream-marker-length-max
stream 4096; put 4104 00000000; keep vmdk stream-marker-length-0
stream 4095; keep vmdk stream-grain-too-short
# Every grain is the table itself, whose first bytes are then a marker.
stream 4096; put 10240 1400000014000000; keep vmdk stream-grains-in-table
# text NAME LINES: a descriptor
text() { printf "# Disk DescriptorFile\nversion=1\nCID=12345678\nparentCID=ffffffff\n$2\n" >"$image"; keep vmdk "$1"; }
text descriptor-flat 'createType="monolithicFlat"\nRW 204800 FLAT "a-flat.vmdk" 0'
text descriptor-parts 'createType="twoGbMaxExtentSparse"\nRW 4192256 SPARSE "a-s001.vmdk"\nRW 4192256 SPARSE "a-s002.vmdk"\nRW 16 ZERO'
text descriptor-esx 'createType="vmfsSparse"\nparentCID=deadbeef\nparentFileNameHint="/vmfs/volumes/1/a.vmdk"\nRW 8192 VMFSSPARSE "a-000001-delta.vmdk"\nddb.thinProvisioned = "1"'
text descriptor-raw-device 'createType="vmfsRawDeviceMap"\nRW 8192 VMFSRDM "a-rdm.vmdk"'
text descriptor-device 'createType="fullDevice"\nRW 8192 FLAT "/dev/sda" 0'
text descriptor-se-sparse 'createType="seSparse"\nRW 8192 SESPARSE "a-sesparse.vmdk"'
text descriptor-size-2p64 'RW 18446744073709551616 FLAT "a" 0'
text descriptor-size-2p55 'RW 36028797018963968 FLAT "a" 0'
text descriptor-offset-max 'RW 8 FLAT "a" 36028797018963967'
text descriptor-sum-overflows 'RW 20000000000000000 FLAT "a" 0\nRW 20000000000000000 FLAT "b" 0'
text descriptor-bad-line 'RW 8 ROUND "a"'
text descriptor-without-parts 'createType="monolithicFlat"'
text descriptor-2000-parts "$(yes 'RW 8 SPARSE "a"' | head -2000)"
text descriptor-names-itself 'RW 8 SPARSE "descriptor-names-itself"'
blank 4K; put 0 "434f5744$(le 4 1)$(le 4 3)$(le 4 4098)$(le 4 1)$(le 4 2)$(le 4 2)$(le 4 0)"; put 1024 0300000000000000; put 1536 07000000000000000600000000000000; truncate -s 24K "$image"; keep vmdk cowd
put 1024 02000000; keep vmdk cowd-table-in-directory
put 24 01000000; keep vmdk cowd-directory-short
put 16 00000000; keep vmdk cowd-grain-0
blank 4K; put 0 bebafeca00000000; keep vmdk se-sparse
blank 3M; put 1048576 55; qemu-img convert -O vmdk "$image" "$image.out"; mv "$image.out" "$image"; keep vmdk qemu-img 16384

# be WIDTH NUMBER: the number as hexadecimal bytes, high byte first
be() { printf "%0$(($1 * 2))x" "$2"; }
# 200 clusters of 512 bytes: L1 at 0x600, four entries, of which the first names an L2 at 0x800 and the third one further on
qcow2() {
    rm -f "$image"; qemu-img create -q -f qcow2 -o cluster_size=512 "$@" "$image" 100K
    qemu-io -c 'write -q -P 85 0 1k' -c 'write -q -c -P 3 2k 512' -c 'write -q -z 3k 1k' -c 'write -q -P 7 70k 3k' "$image"
}
qcow2; keep qcow2 v3
put 4 00000004; keep qcow2 version-4
qcow2 -o compat=0.10; keep qcow2 v2
put $((0x800)) 0000000000000001; keep qcow2 v2-zero-cluster
qcow2 -o compression_type=zstd; keep qcow2 zstd
put $((0x68)) 07; keep qcow2 compression-type-7
qcow2; put 20 00000008; keep qcow2 cluster-bits-8
put 20 ffffffff; keep qcow2 cluster-bits-max
qcow2; put 24 8000000000000000; keep qcow2 size-2p63
put 24 ffffffffffffffff; put 36 00400000; keep qcow2 size-max
qcow2; put 36 ffffffff; keep qcow2 l1-size-max
qcow2; put 40 "$(be 8 1048576)"; keep qcow2 l1-beyond-the-file
put 40 fffffffffffffff8; keep qcow2 l1-offset-max
qcow2; put $((0x600)) "$(be 8 $((0x600)))"; keep qcow2 l1-names-itself
qcow2; put $((0x608)) "$(be 8 $((0x800)))$(be 8 $((0x800)))$(be 8 $((0x800)))"; keep qcow2 l2-used-four-times
# A disk of 2 MiB in a file of 3.5 KiB: 64 times the same L2.
qcow2; truncate -s 3584 "$image"; put 24 "$(be 8 2097152)"; put 36 "$(be 4 64)"; for n in $(seq 0 63); do put $((0x600 + n * 8)) "$(be 8 $((0x800)))"; done; keep qcow2 l2-used-64-times
qcow2; put $((0x800)) "$(be 8 $((0x800)))"; keep qcow2 l2-names-itself
put $((0x800)) "$(be 8 $((0x600)))"; keep qcow2 cluster-over-l1
qcow2; put $((0x800)) "$(be 8 $((0xa00)))$(be 8 $((0xa00)))"; keep qcow2 clusters-overlap
put $((0x800)) 8000000000000afe; put $((0x600)) "$(be 8 $((0x801)))"; keep qcow2 reserved-bits
rm -f "$image"; qemu-img create -q -f qcow2 -o cluster_size=1k "$image" 100K; put $((0xc00)) "$(be 8 $((0x1200)))"; keep qcow2 l2-misaligned
qcow2; put $((0x600)) 00fffffffffffe00; keep qcow2 l2-beyond-the-file
qcow2; put $((0x800)) 00fffffffffffe00; keep qcow2 cluster-beyond-the-file
qcow2; put $((0x820)) 7fffffffffffffff; keep qcow2 packed-beyond-the-file
# 64 KiB of zeroes as one deflated block, for a cluster of 512 bytes: a bomb, and the same cut off in the middle
bomb() { head -c 65536 /dev/zero | gzip -9n | tail -c +11 >"$work/bomb"; dd if="$work/bomb" of="$image" bs=1 seek=$((0x1400)) conv=notrunc status=none; }
qcow2; bomb; put $((0x820)) "$(be 8 $((0x4000000000001400)))"; keep qcow2 packed-bomb
put $((0x1400)) ffffffff; keep qcow2 packed-damaged
qcow2; bomb; truncate -s $((0x1408)) "$image"; put $((0x820)) "$(be 8 $((0x4000000000001400)))"; keep qcow2 packed-cut-off
qcow2 -o compression_type=zstd; put $((0x820)) "$(be 8 $((0x4000000000001400)))"; put $((0x1400)) 28b52ffd60ffff; keep qcow2 zstd-cut-off
qcow2; put 32 00000001; keep qcow2 aes
put 32 00000002; keep qcow2 luks
put 32 ffffffff; keep qcow2 encryption-max
qcow2; put 72 0000000000000003; keep qcow2 dirty-and-corrupt
put 72 8000000000000020; keep qcow2 feature-unnamed
qcow2; put 100 00000000; keep qcow2 header-length-0
put 100 ffffffff; keep qcow2 header-length-max
qcow2; put 112 12345678ffffffff; keep qcow2 extension-length-max
rm -f "$image"; qemu-img create -q -f qcow2 -o cluster_size=1k "$image" 100K; for n in $(seq 0 100); do put $((112 + n * 8)) 1234567800000000; done; keep qcow2 extensions-without-end
qcow2; put 8 "$(be 8 512)$(be 4 70000)"; keep qcow2 backing-name-70000
put 8 ffffffffffffffff000003ff; keep qcow2 backing-offset-max
qcow2; keep qcow2 truncated-in-header 80
keep qcow2 truncated-in-l1 1540
keep qcow2 truncated-in-l2 2060
rm -f "$image"; qemu-img create -q -f qcow2 -u -o cluster_size=4k -b ../parent.vhd -F vpc "$image" 1M; keep qcow2 backing-file
# The name that its own table of names gives to bit 2 is given to bit 9. QEMU writes that table from clusters of 8 KiB on.
rm -f "$image"; qemu-img create -q -f qcow2 -o cluster_size=64k "$image" 1M; put 72 0000000000000100; keep qcow2 feature-beside-names 4096
at=$(grep -abo 'external data file' "$image" | head -1 | cut -d: -f1); put $((at - 1)) 09; put 72 0000000000000200; keep qcow2 feature-named 4096
for name in nbd://host/disk 'json:{"driver":"nbd","host":"h"}'; do
    rm -f "$image"; qemu-img create -q -f qcow2 -u -o cluster_size=4k -b "$name" -F raw "$image" 1M; keep qcow2 "backing-${name%%:*}"
done
(cd "$work"; rm -f image data; qemu-img create -q -f qcow2 -o cluster_size=512,data_file=data,data_file_raw=on image 32K; qemu-io -c 'write -q -P 85 0 1k' -c 'write -q -z 3k 1k' image); keep qcow2 data-file
l2=$(($(xxd -s $((0x600)) -l 8 -p "$image" | sed s/^8/0/ | sed s/^/0x/))); put $l2 4000000000000000; keep qcow2 data-file-packed
put $((112 + 4)) 00000000; keep qcow2 data-file-unnamed
# Subclusters; the L2 table is brought near, over the reference counts.
extended() {
    rm -f "$image"; qemu-img create -q -f qcow2 -o cluster_size=16k,extended_l2=on "$image" 100K
    qemu-io -c 'write -q -P 85 512 1k' -c 'write -q -z 3k 1k' -c 'write -q -P 7 70k 17k' "$image"
    dd if="$image" of="$image" bs=1 skip=$((0x10000)) seek=$((0x8000)) count=128 conv=notrunc status=none
    put $((0xc000)) 8000000000008000
}
extended; keep qcow2 extended 49160
put $((0x8008)) ffffffffffffffff; keep qcow2 subclusters-zero-and-allocated 49160
put $((0x8000)) 0000000000000000000000000000ffff; keep qcow2 subclusters-of-nothing 49160
extended; put 20 0000000d; keep qcow2 extended-8k 49160

# Refused
rm -f "$image"; qemu-img create -q -f qed "$image" 1M >/dev/null 2>&1; keep qed qemu-img 4096
rm -f "$image"; qemu-img create -q -f parallels "$image" 4M >/dev/null 2>&1; keep parallels extended 4096
put 0 576974686f757446726565537061636500; keep parallels plain 4096
keep parallels truncated 20
# VHD: the copy of the footer at byte 0 is enough, so heads do. A wrong checksum is an oddity and not the end, so those of
# the hostile ones stay wrong.
# Blocks become 4 KiB instead of 2 MiB, so that all of a disk fits into a seed.
vhd() {
    blank 3M; put 1048576 55; put 3145720 aa; qemu-img convert -O vpc "$@" "$image" "$image.out"; mv "$image.out" "$image"
    put 68 11111111222233334444555555555555; put 24 00000000; sum 0 512 64
}
# sum AT LEN FIELD: the complement of the sum of the bytes of a structure, its own field left out
sum() {
    put $(($1 + $3)) 00000000
    put $(($1 + $3)) "$(tail -c +$(($1 + 1)) "$image" | head -c "$2" | od -An -v -tu1 -w1 | awk '{ n += $1 } END { printf "%08x", 4294967295 - n }')"
}
small() { vhd; put 544 00001000; put 540 00000004; put 48 0000000000003800; put 1536 00000010000000190000002effffffff; put 8192 f0; put 12800 ff; sum 0 512 64; }
vhd -o subformat=fixed; tail -c 4608 "$image" >"$image.out"; mv "$image.out" "$image"; put 4144 0000000000001000; put 4120 00000000; put 4164 11111111222233334444555555555555; sum 4096 512 64; keep vhd fixed
head -c 4607 "$image" >"$image.out"; mv "$image.out" "$image"; keep vhd fixed-511
put 4144 ffffffffffffffff; keep vhd fixed-size-max
vhd; keep vhd dynamic 2560
small; keep vhd small-blocks 32768
put 60 00000004; put $((512 + 40)) aaaaaaaabbbbccccddddeeeeeeeeeeee; put $((512 + 64)) 0062002e007600680064
put $((512 + 576)) 5732727500000200000000120000000000000000000003c0; put 960 2e005c0062002e00760068006400; put 1536 00000010000000190000002e
sum 0 512 64; sum 512 1024 36; keep vhd differencing 32768
put $((512 + 576)) 57327275ffffffffffffffff00000000ffffffffffffffff; keep vhd locator-beyond-the-file 32768
put 1536 00000010000000100000001000000010000000100000001000000010; keep vhd blocks-share-a-bitmap 32768
put $((512 + 32)) 80000000; keep vhd differencing-block-size-2p31 32768
small; put $((512 + 32)) 00000000; keep vhd block-size-0 32768
small; put $((512 + 32)) 00000c01; keep vhd block-size-odd 32768
small; put $((512 + 32)) 00000c00; keep vhd block-size-3072 32768
small; put $((512 + 32)) 80000000; put 48 0000010000000000; keep vhd block-size-2p31 32768
small; put $((512 + 28)) ffffffff; put 48 ffffffffffffffff; keep vhd sizes-max 32768
small; put $((512 + 16)) 7fffffffffffffff; keep vhd table-offset-max 32768
small; put $((512 + 16)) 0000000000000000; keep vhd table-over-the-copy 32768
small; put 1536 fffffffefffffffe; keep vhd block-beyond-the-file 32768
small; put 1536 00000003; keep vhd block-over-the-table 32768
small; put 1536 0000001000000012; keep vhd blocks-overlap 32768
small; put 16 ffffffffffffffff; keep vhd header-beyond-the-file 32768
small; put 60 00000006; keep vhd type-6 32768
small; put 12 00020000; keep vhd version-2 32768
small; keep vhd truncated 600
small; keep vhd truncated-in-table 1540

# VHDX, built here: its structures lie MiB apart, and their checksums are put in when a seed is unpacked (src/sparse.rs).
mib=1048576
# sparse NAME [MARK]: keeps what is not zero of the image
sparse() {
    mkdir -p corpus/vhdx
    perl -e '
        my ($name, $mark) = @ARGV; local $/; open my $file, "<:raw", $name or die; my $bytes = <$file>; binmode STDOUT;
        print "sparse$mark ", pack("Q<", length $bytes);
        while ($bytes =~ /\G(?:\0{16})*+/gc && $bytes =~ /\G((?:(?!\0{16}).{16}){1,4000})/gcs) { print pack("L<S<", $-[0], length $1), $1 }
    ' "$image" "${2:-+}" >"corpus/vhdx/$1"
}
# metadata item NUMBER, GUID, OFFSET, BYTES, FLAGS
item() { put $((2 * mib + 32 + 32 * $1)) "$2$(le 4 "$3")$(le 4 $((${#4} / 2)))$(le 4 "$5")"; put $((2 * mib + $3)) "$4"; }
bat() { put $((3 * mib)) "$1"; }
vhdx() {
    blank 6M; put 0 7668647866696c65; put 8 7300650065006400
    for at in 65536 131072; do
        put $at 68656164; put $((at + 8)) "$(le 8 7)"; put $((at + 32)) 44332211665588770102030405060708
        put $((at + 66)) 0100; put $((at + 68)) "$(le 4 $mib)$(le 8 $mib)"
    done
    for at in 196608 262144; do
        put $at 72656769; put $((at + 8)) 02000000
        put $((at + 16)) "6677c22d23f600429d64115e9bfd4a08$(le 8 $((3 * mib)))$(le 4 $mib)01000000"
        put $((at + 48)) "06a27c8b90479a4bb8fe575f050f886e$(le 8 $((2 * mib)))$(le 4 $mib)01000000"
    done
    put $((2 * mib)) 6d657461646174610000; put $((2 * mib + 10)) 0500
    item 0 3767a1ca36fa434db3b633f0aa44e76b 65536 "$(le 4 ${1:-$mib})$(le 4 ${2:-0})" 4
    item 1 2442a52f1bcd7648b2115dbed83bf4b8 65544 "$(le 8 ${3:-$((2 * mib))})" 6
    item 2 ab12cabee6b2234593efc309e000c746 65552 11111111222233334444555555555555 6
    item 3 1dbf41816fa90947ba47f233a8faab5f 65568 "$(le 4 ${4:-512})" 6
    item 4 c748a3cd5d4471449cc9e9885251c556 65572 "$(le 4 4096)" 6
    bat 06004000000000000600500000000000
}
# utf16 TEXT: as hexadecimal bytes
utf16() { printf %s "$1" | xxd -p -c1 | sed 's/$/00/' | tr -d '\n'; }
# differencing, with its locator; 32 blocks of 128 MiB to a chunk
child() {
    vhdx 134217728 2 $((3 * 134217728))
    put $((2 * mib + 10)) 0600
    pairs="$(utf16 parent_linkage)$(utf16 '{11223344-55}')$(utf16 relative_path)$(utf16 '.\b.vhdx')"
    item 5 2d5fd3a80bb34d45abf7d3d84834ab0c 65600 "b7ef4ab09ed1814ab78925b8e944591300000200$(le 4 44)$(le 4 72)1c001a00$(le 4 98)$(le 4 124)1a001000$pairs" 4
    bat "07004000000000000000000000000000070060000000000006"; put $((3 * mib + 256)) 0600500000000000
    put $((5 * mib)) 07; put $((5 * mib + 65536)) ffffffffffffffff0f
}
loge() { put $((mib + $1)) "6c6f67650000000000100000$(le 4 "$2")$(le 8 "$3")$(le 4 0)00000000aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa$(le 8 $((6 * mib)))$(le 8 $((6 * mib)))"; }
pending() { vhdx; put 65544 "$(le 8 9)"; put 65584 aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa; }
zero() { put $((mib + $1 + 24)) 01000000; put $((mib + $1 + 64)) "7a65726f00000000$(le 8 4096)$(le 8 "$3")$(le 8 "$2")"; }

vhdx; sparse dynamic
sparse checksums-wrong -
vhdx $mib 1; sparse fixed
vhdx $mib 0 $((6 * mib)) 4096; bat 000000000000000001000000000000000200000000000000030000000000000005000000000000000600500000000000; sparse states
child; sparse differencing
put $((3 * mib + 256)) 0600f00000000000; sparse bitmap-beyond-the-file
put $((3 * mib + 256)) 0000000000000000; sparse partial-without-bitmap
child; put $((2 * mib + 65600 + 28)) ffffffff; sparse locator-lengths-max
child; put $((2 * mib + 65600 + 18)) ffff; sparse locator-count-max
child; put $((2 * mib + 32 + 5 * 32 + 16)) ffffffffffffffff; sparse locator-offset-max
vhdx; bat 0700400000000000; sparse partial-without-parent
vhdx; bat 0400000000000000; sparse state-4
vhdx; bat 0600f0ffffffffff; sparse block-beyond-the-file
vhdx; bat 0600300000000000; sparse block-over-the-table
vhdx; bat 06004000000000000600400000000000; sparse blocks-overlap
for size in 0 2147483648 3145728; do
    vhdx $size; case $size in 0) sparse block-size-0 ;; 3145728) sparse block-size-3-mib ;; *) sparse block-size-2p31 ;; esac
done
vhdx $mib 0 $((2 * mib)) 1024; sparse sectors-of-1024
vhdx; put $((2 * mib + 65544)) ffffffffffffffff; sparse size-max
vhdx; put $((2 * mib + 32 + 2 * 32)) 00; sparse unknown-item
regions() { for at in 196608 262144; do put $((at + $1)) "$2"; done; }
vhdx; regions 8 03000000; regions 80 "111111112222333344445555555555550000500000000000$(le 4 $mib)01000000"; sparse unknown-region
vhdx; regions 64 "$(le 8 $((3 * mib)))"; sparse regions-overlap
vhdx; regions 32 "$(le 8 0)"; sparse table-over-the-headers
vhdx; regions 32 0000000000010000; sparse table-beyond-the-file
vhdx; regions 32 ffffffffffffffff; sparse table-offset-max
vhdx; regions 8 ffffffff; sparse regions-max
vhdx; put $((2 * mib + 10)) ffff; put $((2 * mib + 5 * 32 + 32)) 01; sparse items-max
vhdx; put 65602 0200; put 131138 0200; sparse version-2
vhdx; sparse headers-damaged -
vhdx; truncate -s 100000 "$image"; sparse truncated
pending; sparse log-empty
loge 0 0 5; zero 0 5 $((3 * mib)); sparse log-replayed
put $((mib + 48)) "$(le 8 $((9 * mib)))"; sparse log-of-a-longer-file
# Each names the other as its tail, and neither follows the other.
pending; loge 0 4096 5; loge 4096 0 9; sparse log-loops
pending; for n in 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15; do loge $((n * 4096)) 0 5; put $((mib + n * 4096 + 8)) "$(le 4 $mib)"; done; sparse log-entries-overlap
pending; put $((65536 + 72)) 0000000000000100; sparse log-beyond-the-file
pending; put $((65536 + 68)) ffffffff; sparse log-length-max
pending; put $((65536 + 64)) 0100; sparse log-version-1

# Guests: a partition table and a filesystem inside each container, and a container inside a partition.
guest() {
    blank 256K; printf 'label: dos\nlabel-id: 0x57524144\nstart=%s,type=83\n' "$1" | sfdisk -q --no-reread "$image" >/dev/null 2>&1
    truncate -s 128K "$work/fs"; mke2fs -q -F -t ext2 -b 1024 -U $uuid "$work/fs"
    dd if="$work/fs" of="$image" bs=512 seek="$1" conv=notrunc,sparse status=none; rm "$work/fs"
}
into() { qemu-img convert -f raw -O "$@" "$image" "$work/out"; mv "$work/out" "$image"; }
guest 63; into qcow2 -o cluster_size=4k; keep check qcow2-63
guest 64; into qcow2 -c -o cluster_size=4k; keep check qcow2-compressed
guest 63; into vmdk; keep check vmdk-63
guest 64; into qcow2 -c -o cluster_size=4k; mv "$image" "$work/inner"
blank 64K; printf 'label: dos\nlabel-id: 0x57524144\nstart=8,type=83\n' | sfdisk -q --no-reread "$image" >/dev/null 2>&1
dd if="$work/inner" of="$image" bs=512 seek=8 conv=notrunc status=none; keep check qcow2-in-a-partition

# Anything
: >"$image"; keep 'inspect gpt mbr' empty
blank 64K; keep inspect zeroes 4096

# Files: the sectors of an image that are neither empty nor filled with ff, each behind its number (crates/testkit/src/files.rs).
# What lies in the files does not matter and is ff.
full() { head -c "$1" /dev/zero | tr '\0' '\377'; }
# sectors TARGET NAME
sectors() {
    mkdir -p "corpus/$1"
    {
        le 4 $(($(stat -c %s "$image") / 512))
        xxd -p -c512 "$image" | awk '!/^(0+|f+)$/ { n = NR - 1; for (i = 0; i < 4; i++) { printf "%02x", n % 256; n = int(n / 256) } print }'
    } | xxd -r -p >"corpus/$1/$2"
}
tree=$work/tree
mkdir -p "$tree/data" "$tree/many"
full 20000 >"$tree/data/db.mdf"
echo small >"$tree/small"
for n in $(seq 24); do : >"$tree/many/$n the name of a file that is long enough to fill blocks, whatever their size is, in no time.txt"; done
wimlib-imagex capture "$tree" "$work/wim" --compress=none >/dev/null
# ntfs OPTION...: a filled volume; of the table of upper-case letters, the first 512 bytes are enough
ntfs() {
    blank 2M; mkntfs -FqQ "$@" "$image" >/dev/null 2>&1
    wimlib-imagex apply "$work/wim" 1 "$image" >/dev/null 2>&1
}
letters() {
    first=$(ntfscluster -F "\$UpCase" "$image" 2>/dev/null | awk '$1 == 0 && $2 > 0 { print $2 }')
    dd if=/dev/zero of="$image" bs=512 seek=$((first * $1 + 1)) count=255 conv=notrunc status=none
}
ntfs -c 512; letters 1; sectors ntfs-files mkntfs-512
ntfs -c 4096; letters 8; sectors ntfs-files mkntfs-4k
blank 2M; mkntfs -FqQ -c 512 "$image" >/dev/null 2>&1
for n in $(seq 250); do
    full $((n * 512)) >"$work/part"; ntfscp -q "$image" "$work/part" frag; ntfscp -q "$image" "$work/part" other
done
letters 1; sectors ntfs-files attribute-list
blank 2M; mkntfs -FqQ -c 4096 "$image" >/dev/null 2>&1
ntfscp -q "$image" "$tree/small" small; ntfsfallocate -o 300000 -l 30000 "$image" small >/dev/null 2>&1
letters 8; sectors ntfs-files sparse-unwritten
# ext OPTION...: a filled filesystem
ext() { blank 1M; mke2fs -q -F -b 1024 -N 128 -U $uuid -E hash_seed=$uuid -d "$tree" "$@" "$image" >/dev/null 2>&1; }
ext -t ext4 -O ^has_journal; sectors ext-files mkfs-ext4
ext -t ext2; sectors ext-files mkfs-ext2
ext -t ext4 -I 512 -O ^has_journal,inline_data; sectors ext-files inline-data
ext -t ext4 -O ^has_journal,meta_bg,^resize_inode,^flex_bg -g 256; sectors ext-files meta-groups
for type in ext3 ext4; do
    blank 2M; mke2fs -q -F -t $type -b 1024 -N 16 -O ^has_journal -U $uuid -E hash_seed=$uuid "$image" >/dev/null 2>&1
    full 1024 >"$work/part"; full 400000 >"$work/large"
    {
        echo "mkdir many"
        for n in $(seq 9); do echo "write $work/part s$n"; done
        # Every other block is taken.
        for n in $(seq 300 2 1100); do echo "setb $n"; done
        echo "write $work/large frag"
    } >"$work/requests"
    debugfs -w -f "$work/requests" "$image" >/dev/null 2>&1
    sectors ext-files fragments-$type
done
# xfs OPTION...: a filled filesystem
{
    printf '/nothing\n0 0\nd--755 0 0\nsmall ---644 0 0 %s\n' "$tree/small"
    printf 'data d--755 0 0\ndb.mdf ---644 0 0 %s\n$\nmany d--755 0 0\n' "$tree/data/db.mdf"
    for n in $(seq 24); do printf '%s-%0200d ---644 0 0 %s\n' "$n" 0 "$tree/small"; done
    printf '$\n$\n'
} >"$work/prototype"
xfs() {
    blank 320M; mkfs.xfs -q -f -l size=64m -d agcount=2 -p "$work/prototype" "$@" "$image" >/dev/null 2>&1
}
xfs -m uuid=$uuid; sectors xfs-files mkfs-v5
xfs -m crc=0 -b size=512; sectors xfs-files mkfs-v4

# Other tools' words: arguments, a line each; a parameter file of SQLIO's behind an empty line; job files as they are.
words() { # words TARGET NAME ARGUMENT...
    mkdir -p "corpus/compat-$1"
    target=compat-$1 name=$2; shift 2
    printf '%s\n' "$@" >"corpus/$target/$name"
}
words sqlio parameter-file -kR -s120 -frandom -o8 -b8 -LS -Fparam.txt '' 'c:\testfile.dat 2 0x0 100' '#d:\testfile.dat 2 0x0 100'
words sqlio files -kW -s30 -fsequential -o4 -b64 -BH -t2 a.dat /mnt/b.dat
words sqlio apart -k R -f random -b 8 -L S
words sqlio slashes /kR /frandom /b8 /S63
words sqlio stripe -kR -s300 -b64 -f1 -i2000000 -o1 -t1 -LP -BN x
words sqlio stripe-overflow -kR -b65536 -f1 -i1099511627776 -S1099511627776
words sqlio raw -kR -frandom -R1
words sqlio mask -frandom -Fp '' 'a 2 0xf 100'
words sqlio quoted -frandom -Fp '' '"my data.dat" 16 0 20000 # big'
words diskspd mix -b8K -d30 -o4 -t8 -h -r -w25 -L -Z1G -c20G 'C:\iotest.dat'
words diskspd interlocked -c256M -d120 -si -w0 -t2 -o8 -b4K -Sh -L a.dat b.dat
words diskspd bounds -b8K -B10b:64K -f1M x
words diskspd bounds-overflow -B4611686018427387904:4611686018427387904 x
words diskspd size-overflow -b64M -c288230376151711744b x
words diskspd refused -Rxml x
words diskspd raw '#1'
words fio-job cells '[global]' ioengine=io_uring direct=1 filename=test.dat size=1g iodepth=32 runtime=1m time_based \
    '[read]' rw=randread bs=8k '[write]' stonewall rw=randwrite bs=64k numjobs=4
words fio-job lengths '[mix]' rw=randrw rwmixread=70 bssplit=4k/50:8k/30:64k/ runtime=20 time_based randseed=0x1234
words fio-job log '[log]' rw=write bs=512 size=8m sync=dsync runtime=10 time_based thinktime=100 offset=1m fsync=0
words fio-job rate '[rate]' rw=randrw rwmixwrite=25 bs=8k,8k rate_iops=4294967295 runtime=5 time_based norandommap
words fio-job comments '; c' '# d' '  [a]  ' 'bs=4k # e' runtime=5 'rw =read'
words fio-job variable '[a]' 'filename=${HOME}/x' runtime=5
words fio-job overflow '[a]' bs=18446744073709551615k runtime=99999999999999999999d

# body NAME PART...: counts that were sent, without their version and checksum, which the target puts around
body() {
    mkdir -p corpus/statistics
    name=$1; shift
    printf "$(printf %s "$@")" >"corpus/statistics/$name"
}
body nothing '\0\0\0\0\1\200\200\100\0'
body one-request '\0\1\0\3sda\1\1f\3csv\0\0' '\1\0\0\11\0\1\0\0\0\0\0\0\0\0' '\1\200\200\100\1\0\200\4\0'
body times-faults-courses '\350\7\2\0\3sda\1\3sdb\1\1f\3csv\1\0' \
    '\1\0\0\144\1\2\1\2\0\0\1\5\7\5\7\0\0\1\1\2\1\3\62\1\1x\2\0\0\0\200\4\0\0\1\0\1\200\4\1\0' \
    '\2\200\200\100\1\0\200\4\1\201\200\200\200\200\200\4\200\4\0\200\200\200\1\1\0\200\4\1\201\200\200\200\200\200\4\200\4\0'

# table NAME SEPARATOR COUNT WHICH FROM LINE...: a table behind what says which columns are numbers; three bytes in octal
table() {
    mkdir -p corpus/table
    name=$1 head="$2\\$3\\$4\\$5"; shift 5
    { printf "$head"; printf '%s\n' "$@"; } >"corpus/table/$name"
}
table msr , 007 140 000 128166372003061629,usr,0,Read,7014609920,24576,41286 128166372016382155,src1,2,Write,317964288,4096,1963 \
    128166372026382245,mds,1,Write,2834792448,65536,27
table short , 003 110 000 1,2,3 44,55,66 777,888,999 '' 1,2 1,2,3,4 5,6,7
table large , 003 110 000 18446744073709551615,9999999999999999,1 9999999999999999999,99999999999999999,0 18446744073709551616,1,1 1,2,3
table blanks ' ' 004 031 002 '10 20 30 40' '1 2 3 x' '-1 2 3 4' '1 2  3 4' '7 8 9 10'

# Formats with scripts of their own.
for script in seeds/*.sh; do . "$script"; done
