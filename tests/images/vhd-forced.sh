# A fixed VHD of exactly 3 MiB.
qemu-img create -f vpc -o subformat=fixed,force_size=on "$1" 3M
