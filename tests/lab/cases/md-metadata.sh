# md arrays of every level and metadata version: what Straddle reads on copies of the members alone is what the kernel and mdadm
# say, and every block of the array is found where it says that it lies, on the member with the data and on those with copies.
# Takes long.
# For every commit: every version with a level of each kind (in a row, in stripes, copies, parity), and every level with 1.2.
# More in a soak.
. "$LAB/helpers.sh"
. "$LAB/md.sh"

for version in 0.90 1.0 1.1 1.2; do
    # every LEVEL VERSIONS: nothing with 1.2 and with these, else `in_soak`.
    every() { case " 1.2 $2 " in *" $version "*) ;; *) echo in_soak ;; esac; }
    $(every linear 0.90) try $version linear 3
    # mdadm refuses RAID 0 of 0.90, which has no room for its layout, on newer kernels.
    [ $version = 0.90 ] || $(every 0 1.0) try $version 0 3 --chunk=64
    $(every 1 0.90) try $version 1 2
    $(every 4 "") try $version 4 3 --chunk=16
    $(every 5 0.90) try $version 5 4 --chunk=64
    $(every 6 1.1) try $version 6 4 --chunk=32
    $(every 10 1.0) try $version 10 4 --chunk=64 --layout=n2
    $(every 10 1.1) try $version 10 5 --chunk=16 --layout=f2
    $(every 10 "") try $version 10 3 --chunk=64 --layout=o2
done
try 1.2 1 3 --bitmap=internal
in_soak try 1.2 0 6 --chunk=4
in_soak try 1.2 0 2 --chunk=512
try 1.2 0 3 --chunk=20
echo "$compared configurations, $blocks blocks"
