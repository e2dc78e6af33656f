# The first cluster is to lie on a multiple of __every__ sectors. Where it comes to lie is tried on an empty file of the same size.
if [ -b "$part" ]; then size=$(blockdev --getsize64 "$part"); else size=$(stat -L -c %s "$part"); fi
trial=$(mktemp)
field() { od -An -v -tu1 -j "$1" -N "$2" "$trial" | awk '{ for (i = NF; i > 0; i--) n = n * 256 + $i; print n }'; }
reserved=__least__
rest=1
for round in 1 2 3 4 5 6 7 8; do
    rm -f "$trial"
    truncate -s "$size" "$trial"
    mkfs.vfat __options__ "$trial" > /dev/null || die 'mkfs.vfat would not make it'
    tables=$(field 22 2)
    [ "$tables" != 0 ] || tables=$(field 36 4)
    heap=$(($(field 14 2) + $(field 16 1) * tables + $(field 17 2) * 32 / __sector__))
    rest=$((heap % __every__))
    if [ "$rest" = 0 ]; then break; fi
    reserved=$(($(field 14 2) + __every__ - rest))
done
rm -f "$trial"
[ "$rest" = 0 ] || die "its first cluster cannot be put on a boundary after $round attempts"
