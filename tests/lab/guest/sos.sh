# What scripts about support archives share: `. "$LAB/sos.sh"` below the library. A host is planted, `sos report` is run on it, and what the
# archive gives is compared with what the kernel's own files give.

# Places of what was planted, one a line. What multipath makes of its paths is a disk of its own for the kernel; in what lsblk prints of a host,
# it is one disk with them.
SOS_PLACES='
    def called: if .name | test("^(sd|md|loop)") then null else [.attributes[] | select(.key == "label") | .value.value.text][0] end;
    def short: (called // .name) | sub("^(device |mapper/)"; "");
    .targets[0].stack as $stack
    | [$stack[] | select(.kind | IN("partition", "encryption", "array", "volume"))
        | select(short | test("^(sd|md|vg|luks|mpath[a-z]+[0-9]|loop)"))
        | "\(short): \(.kind) at \(.placement.value.start) on \([.below[] | $stack[.] | short] | sort | join(" ")), grids \([.grids[]
            | select(.role | IN("stripe-unit", "full-stripe")) | "\(.role) \(.grid.value.unit)"] | sort | unique | join(" "))"]
    | sort[]'

# Findings with what they say, but for those of LEFT_OUT:
# - STR102, STR103, STR507: limits of the queues of devices that are not disks, which no command of sos prints, and what rests on them;
# - STR903, STR906: that a loop device, or the disk below the guest's own files, is described nowhere;
# - STR911: that the lab gives all disks one identifier, which only text is read for.
SOS_FINDINGS='
    def called: if .name | test("^(sd|md|loop)") then null else [.attributes[] | select(.key == "label") | .value.value.text][0] end;
    .targets[0].stack as $stack
    | [.targets[0].findings[] | select(.code | IN("STR102", "STR103", "STR507", "STR903", "STR906", "STR911") | not)
        | select(.code as $code | ($left | split(" ") | index($code)) == null)
        # The kernel calls `dm-1` what tools call by its name.
        | $stack[.layer].name as $own | ($stack[.layer] | (called // .name) | sub("^mapper/"; "")) as $name
        | "\(.code) \(.severity) \($name): \(.title | split($own) | join($name))\([.arithmetic[]] | map(" " + .) | add)"]
    | sort[]'

# collected NAME LIVE SOS PLUGINS: what `check` says of this machine, and of the archive that sos makes of it.
collected() {
    local name=$1 archive
    rm -rf /tmp/sos
    mkdir /tmp/sos
    quiet sos report --batch -q --threads 1 --tmp-dir /tmp/sos --log-size 1 -o "$4"
    archive=$(echo /tmp/sos/sosreport-*.tar.xz)
    [ ! -d /mnt/out ] || cp "$archive" "/mnt/out/$name.tar.xz"
    judge "$2"
    judge "$3" "$archive"
}

# host NAME PLUGINS [LEFT-OUT]: compares places and findings on this machine with those in its archive, and prints them. LEFT-OUT: codes that
# this host's archive cannot have, for the reason that its caller names.
host() {
    local kind
    collected "$1" /tmp/live.json /tmp/sos.json "$2"
    for kind in places findings; do
        local filter=SOS_${kind^^}
        jq -r --arg left "${3:-}" "${!filter}" /tmp/live.json > "/tmp/live.$kind"
        jq -r --arg left "${3:-}" "${!filter}" /tmp/sos.json > "/tmp/sos.$kind"
        [ ! -d /mnt/out ] || cp "/tmp/live.$kind" "/mnt/out/$1.live.$kind"
        [ ! -d /mnt/out ] || cp "/tmp/sos.$kind" "/mnt/out/$1.sos.$kind"
        diff -u "/tmp/live.$kind" "/tmp/sos.$kind" > /tmp/differ || {
            echo "$1: $kind differ"
            cat /tmp/differ
            exit 1
        }
    done
    echo "== $1"
    cat /tmp/sos.places
    cut -d: -f1 /tmp/sos.findings
}
