# What the rules' pages say of Straddle's own options. `straddle` is on the PATH.

# fits STATUS...: it ran to its end, with or without findings.
ran() { "$@" > said 2>&1 || [ $? = 1 ] || { cat said; return 1; }; }

truncate -s 64M disk
printf 'label: dos\nstart=63, type=83\n' | sfdisk -q disk
ran straddle check disk
ran straddle check --physical-sector 4K disk
grep -q STR101 said
ran straddle check --physical-sector 512 disk
not grep -q STR101 said
ran straddle check --stripe-unit 64K disk
grep -q STR201 said
for member in sda sdb sdc sdd; do cp disk $member.img; done
ran straddle check sda.img sdb.img sdc.img sdd.img
grep -q sdd.img said
ran straddle fix disk
straddle explain STR406 > /dev/null
straddle capture --output taken.tar.gz > /dev/null 2>&1 || [ -s taken.tar.gz ]
ran straddle check disk > file.txt
straddle study wd-advanced-format > /dev/null

# A start that is recorded counts from the guest's disk, whatever that lies in: a virtual disk, and one in a file on a filesystem in
# a partition of the host at sector 63.
truncate -s 32M guest
printf 'label: dos\nstart=2048, type=c\n' | sfdisk -q guest
for start in 2048 63; do
    recorded() { if [ $start = 2048 ]; then not grep -q STR106 said; else grep -q 'real 2,048 × 512 = 1,048,576' said; fi; }
    mkfs.fat -F 16 -h $start --offset=2048 guest 16384 > /dev/null
    for format in qcow2 vpc vdi vmdk vhdx raw; do
        qemu-img convert -f raw -O $format guest virtual
        ran straddle check virtual
        recorded
    done
    rm -rf files filesystem host
    mkdir files
    qemu-img convert -f raw -O qcow2 guest files/inner.qcow2
    truncate -s 64M filesystem
    mkfs.ext4 -q -d files filesystem
    truncate -s 80M host
    printf 'label: dos\nstart=63, type=83\n' | sfdisk -q host
    dd if=filesystem of=host bs=512 seek=63 conv=notrunc status=none
    ran straddle check --guest-file /inner.qcow2 host
    grep -q 'inner.qcow2' said
    recorded
done
