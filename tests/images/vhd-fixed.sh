# qemu-img rounds the size of a VHD up to a whole geometry: 91 × 4 × 17 sectors, not a whole number of MiB.
qemu-img create -f vpc -o subformat=fixed "$1" 3M
