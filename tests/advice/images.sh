# Virtual disks: qemu-img and QEMU as the rules' pages call them.

qemu-img create -q -f raw raw 4M
qemu-io -f raw -c 'write -P 7 1M 1M' raw > /dev/null
qemu-img convert -f raw -O vpc raw old.vhd
qemu-img convert -O vhdx old.vhd new.vhdx
qemu-io -f vhdx -c 'read -P 7 1M 1M' new.vhdx > /dev/null
qemu-img convert -f raw -O qcow2 raw disk
rm -f new; qemu-img convert -O qcow2 disk new
qemu-img compare -q disk new
rm -f new; qemu-img convert -O qcow2 -o cluster_size=64k disk new
qemu-img info new | says 'cluster_size: 65536'
rm -f new; qemu-img convert -O qcow2 -o preallocation=falloc disk new
[ "$(stat -c %b new)" -ge 8192 ]
rm -f new; qemu-img convert -O vmdk -o subformat=monolithicSparse disk new
qemu-img info new | says 'create type: monolithicSparse'
rm -f new; qemu-img convert -O vmdk -o subformat=streamOptimized disk new
qemu-img info new | says 'create type: streamOptimized'

# A VHD of whole MiB, whose size other readers agree on.
qemu-img create -q -f vpc -o subformat=fixed odd.vhd 3M
[ $(($(stat -c %s odd.vhd) % 1048576)) != 512 ]
qemu-img convert -f vpc -O raw odd.vhd odd.raw
[ "$(stat -c %s odd.raw)" = "$(qemu-img info -f vpc odd.vhd | sed -n 's/^virtual size:.*(\([0-9]*\) bytes).*/\1/p')" ]
# What the page warns of: the footer is in it.
qemu-img convert -O raw odd.vhd with-footer.raw
[ "$(tail -c 512 with-footer.raw | head -c 8)" = conectix ]
qemu-img resize -q -f raw odd.raw 4M
qemu-img convert -f raw -O vpc -o subformat=fixed,force_size=on odd.raw even.vhd
[ "$(stat -c %s even.vhd)" = $((4 * 1048576 + 512)) ]

# Overlays and chains.
qemu-img create -q -f qcow2 base 4M
qemu-io -f qcow2 -c 'write -P 9 0 64k' base > /dev/null
qemu-img create -q -f qcow2 -b base -F qcow2 -o cluster_size=64k overlay
qemu-img create -q -f qcow2 -b base -F qcow2 middle
qemu-img create -q -f qcow2 -b middle -F qcow2 top
qemu-io -f qcow2 -c 'write -P 5 1M 64k' top > /dev/null
qemu-img convert -B base -F qcow2 -O qcow2 -o cluster_size=64k top other
qemu-img compare -q top other
qemu-img rebase -b base -F qcow2 top
qemu-img info top | says '^backing file: base'
qemu-img compare -q top other
rm -f middle
qemu-img commit -q top
qemu-io -f qcow2 -c 'read -P 5 1M 64k' -c 'read -P 9 0 64k' base > /dev/null
qemu-img create -q -f qcow2 -o extended_l2=on,cluster_size=128k extended 4M
qemu-img info extended | says 'extended l2: true'

# QEMU takes sectors of 4,096 bytes, but not a logical one that is larger than the physical one.
machine() { echo quit | timeout 60 qemu-system-x86_64 -nodefaults -display none -machine pc,accel=tcg -m 16 -S -monitor stdio -drive if=none,id=d,format=qcow2,file=disk "$@" > said 2>&1; }
machine -device virtio-blk-pci,drive=d,logical_block_size=4096,physical_block_size=4096
machine -device virtio-blk-pci,drive=d,discard_granularity=65536
not machine -device virtio-blk-pci,drive=d,logical_block_size=4096,physical_block_size=512
