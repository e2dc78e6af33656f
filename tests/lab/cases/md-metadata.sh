# md arrays of every level and metadata version: what Straddle reads on copies of the members alone is what the kernel and mdadm
# say, and every block of the array is found where it says that it lies, on the member with the data and on those with copies.
# Takes long.
. "$LAB/helpers.sh"
. "$LAB/md.sh"

for version in 0.90 1.0 1.1 1.2; do
    try $version linear 3
    # mdadm refuses RAID 0 of 0.90, which has no room for its layout, on newer kernels.
    [ $version = 0.90 ] || try $version 0 3 --chunk=64
    try $version 1 2
    try $version 4 3 --chunk=16
    try $version 5 4 --chunk=64
    try $version 6 4 --chunk=32
    try $version 10 4 --chunk=64 --layout=n2
    try $version 10 5 --chunk=16 --layout=f2
    try $version 10 3 --chunk=64 --layout=o2
done
try 1.2 1 3 --bitmap=internal
try 1.2 0 6 --chunk=4
try 1.2 0 2 --chunk=512
try 1.2 0 3 --chunk=20
echo "$compared configurations, $blocks blocks"
