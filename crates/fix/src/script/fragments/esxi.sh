need() { command -v "$1" > /dev/null 2>&1 || die "$1 is not here: this is a script for the shell of ESXi 5.0 or later"; }

# table_is DEVICE SECTORS PARTITIONS: the size, and number, first and last sector of every partition
table_is() {
    [ -e "$1" ] || die "$1 does not exist"
    table=$(partedUtil getptbl "$1") || die "partedUtil cannot read the table of $1"
    sectors=$(printf '%s\n' "$table" | awk 'NR == 2 { print $4 }')
    [ "$sectors" = "$2" ] || die "$1 has $sectors sectors, the plan was made for $2: it is another disk"
    have=$(printf '%s\n' "$table" | awk 'NR > 2 { printf "%s%s %s %s", sep, $1, $2, $3; sep = ", " }')
    [ "$have" = "$3" ] || die "$1 has the partitions $have, the plan was made for $3: it is another disk, or it was changed"
}
