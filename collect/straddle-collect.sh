#!/bin/sh
# Collects what a Linux or ESXi host says about its storage, as text files in one new folder, for `straddle check FOLDER`.
#
# It only runs commands that read, and writes nowhere but into that folder. Every command is listed before the first one
# runs. A command that is missing or fails is noted in its file, and the next one runs. Plain POSIX sh: dash, busybox.

set -u
LC_ALL=C
LVM_SUPPRESS_FD_WARNINGS=1
export LC_ALL LVM_SUPPRESS_FD_WARNINGS
umask 077
set -f

tab=$(printf '\t')
nl='
'
plan=
serials=keep
only_list=no
parent=.

usage() {
    cat <<'USAGE'
usage: straddle-collect.sh [--no-serials] [--list] [--output FOLDER]

Writes the folder straddle-HOST-DATE below the current one, or below FOLDER.

  --no-serials     put a short hash in place of each serial number: the same number has the same hash, so disks are
                   still known again. World-wide names, UUIDs and host names stay
  --list           only list the commands
  --output FOLDER  where the new folder is made
USAGE
}

while [ $# -gt 0 ]; do
    case $1 in
    --no-serials) serials='hash' ;;
    --list) only_list=yes ;;
    --output)
        if [ $# -lt 2 ]; then
            usage >&2
            exit 2
        fi
        parent=$2
        shift
        ;;
    -h | --help)
        usage
        exit 0
        ;;
    *)
        usage >&2
        exit 2
        ;;
    esac
    shift
done

have() {
    command -v "$1" >/dev/null 2>&1
}

# add NAME COMMAND…: plans a command whose output goes to NAME.txt.
add() {
    name=$(printf '%s' "$1" | tr -c 'A-Za-z0-9._-' '-')
    shift
    plan="$plan$name$tab$*$nl"
}

# short /dev/mapper/a: mapper-a
short() {
    printf '%s' "${1#/dev/}" | tr '/' '-'
}

# first PROGRAM…: the first that is installed, also where vendors put theirs.
first() {
    for program in "$@"; do
        if have "$program"; then
            printf '%s' "$program"
            return 0
        fi
    done
    for program in "$@"; do
        for folder in /opt/MegaRAID/storcli /opt/MegaRAID/perccli /opt/MegaRAID/MegaCli /opt/lsi/storcli \
            /opt/smartstorageadmin/ssacli/bin /opt/hp/hpssacli/bld /usr/Arcconf /usr/StorMan; do
            if [ -x "$folder/$program" ]; then
                printf '%s' "$folder/$program"
                return 0
            fi
        done
    done
    return 1
}

plan_disk() {
    disk=$1
    s=$(short "$disk")
    add "sfdisk-json-$s" sfdisk -J "$disk"
    add "sfdisk-dump-$s" sfdisk -d "$disk"
    add "parted-$s" parted -sm "$disk" unit B print
    add "fdisk-$s" fdisk -l "$disk"
    add "sgdisk-$s" sgdisk -p "$disk"
    case $disk in
    /dev/sd*)
        add "smartctl-$s" smartctl -ij "$disk"
        add "sg_vpd-bl-$s" sg_vpd -p bl "$disk"
        add "sg_vpd-lbpv-$s" sg_vpd -p lbpv "$disk"
        add "sg_vpd-bdc-$s" sg_vpd -p bdc "$disk"
        add "sg_readcap-$s" sg_readcap -l "$disk"
        ;;
    /dev/nvme*)
        add "nvme-id-ns-$s" nvme id-ns -o json "$disk"
        add "nvme-id-ctrl-$s" nvme id-ctrl -o json "$disk"
        add "smartctl-$s" smartctl -ij "$disk"
        ;;
    esac
}

plan_linux() {
    add lsblk-json lsblk -JO -b
    add lsblk-topology lsblk -t
    add lsblk lsblk -b -o NAME,TYPE,SIZE,FSTYPE,UUID,MOUNTPOINT,ALIGNMENT,MIN-IO,OPT-IO,PHY-SEC,LOG-SEC,ROTA
    add sysfs grep -s . '/sys/block/*/size' '/sys/block/*/alignment_offset' '/sys/block/*/queue/*'

    set +f
    for path in /sys/block/*; do
        kernel=${path##*/}
        case $kernel in
        '*' | ram* | zram* | sr* | fd* | loop* | dm-* | md*) continue ;;
        esac
        if [ -r "$path/size" ] && [ "$(cat "$path/size")" != 0 ]; then
            # The kernel writes ! where a device's name has a slash.
            plan_disk "/dev/$(printf '%s' "$kernel" | tr '!' '/')"
        fi
    done
    for path in /sys/block/md*; do
        if [ -d "$path/md" ]; then
            add "mdadm-detail-${path##*/}" mdadm --detail "/dev/${path##*/}"
            add "fdisk-${path##*/}" fdisk -l "/dev/${path##*/}"
        fi
    done
    set -f
    if [ -r /proc/mdstat ]; then
        add mdstat cat /proc/mdstat
    fi

    # Without that setting LVM notes in /run which devices it looked at.
    add pvs pvs --readonly --config devices/hints=none --reportformat json --units b -o \
        pv_name,pv_uuid,pv_size,pe_start,dev_size,pv_mda_size,vg_name,vg_extent_size
    add vgs vgs --readonly --config devices/hints=none --reportformat json --units b -o vg_name,vg_uuid,vg_size,vg_extent_size,vg_extent_count,pv_count
    add lvs lvs --readonly --config devices/hints=none --reportformat json --units b --segments -o \
        lv_name,vg_name,lv_path,lv_uuid,lv_size,segtype,seg_start,seg_size,stripes,stripe_size,chunk_size,devices,seg_pe_ranges
    # For versions without JSON.
    add pvs-text pvs --readonly --config devices/hints=none --units b -o +pe_start
    add lvs-text lvs --readonly --config devices/hints=none --units b --segments -o +devices,stripes,stripesize
    # Where there is no mapping it has nothing to say, and would make /dev/mapper.
    set +f
    for path in /sys/block/dm-*; do
        [ ! -e "$path" ] || add dmsetup-table dmsetup table
        break
    done
    set -f
    add zdb zdb -C
    add zpool-status zpool status -P

    # What lies on what is asked of lsblk: no other command says it without reading each device.
    if have lsblk; then
        found=$(lsblk -rpno NAME,FSTYPE 2>/dev/null | sort -u)
        while read -r node kind _; do
            plan_contents "$node" "$kind"
        done <<FOUND
$found
FOUND
    elif [ -r /proc/mounts ]; then
        while read -r node _ kind _; do
            case $node in
            /dev/*) plan_contents "$node" "$kind" ;;
            esac
        done </proc/mounts
    fi
    add mounts cat /proc/self/mountinfo

    if tool=$(first storcli64 storcli perccli64 perccli); then
        add storcli-controllers "$tool" /call show all J nolog
        add storcli-volumes "$tool" /call/vall show all J nolog
        add storcli-disks "$tool" /call/eall/sall show all J nolog
    fi
    if tool=$(first MegaCli64 MegaCli megacli); then
        add megacli-volumes "$tool" -LdPdInfo -aAll -NoLog
        add megacli-disks "$tool" -PDList -aAll -NoLog
        add megacli-adapters "$tool" -AdpAllInfo -aAll -NoLog
    fi
    if tool=$(first ssacli hpssacli hpacucli); then
        add ssacli "$tool" ctrl all show config detail
    fi
    if tool=$(first arcconf); then
        add arcconf-1 "$tool" getconfig 1
        add arcconf-2 "$tool" getconfig 2
    fi
}

plan_contents() {
    case $2 in
    ext2 | ext3 | ext4) add "dumpe2fs-$(short "$1")" dumpe2fs -h "$1" ;;
    # By device it is read as it lies there; mounted or not makes no difference.
    xfs) add "xfs_info-$(short "$1")" xfs_info "$1" ;;
    crypto_LUKS) add "luksDump-$(short "$1")" cryptsetup luksDump "$1" ;;
    linux_raid_member) add "mdadm-examine-$(short "$1")" mdadm --examine "$1" ;;
    esac
}

plan_esxi() {
    add esxcli-version esxcli system version get
    add esxcli-devices esxcli storage core device list
    add esxcli-capacity esxcli storage core device capacity list
    add esxcli-partitions esxcli storage core device partition list
    add esxcli-guids esxcli storage core device partition showguids
    add esxcli-extents esxcli storage vmfs extent list
    add esxcli-filesystems esxcli storage filesystem list
    set +f
    for path in /vmfs/devices/disks/*; do
        case $path in
        # Partitions are listed as well, with a colon and their number.
        '/vmfs/devices/disks/*' | *:[0-9] | *:[0-9][0-9] | */vml.*) continue ;;
        esac
        add "partedUtil-${path##*/}" partedUtil getptbl "$path"
    done
    for path in /vmfs/volumes/*; do
        case $path in
        '/vmfs/volumes/*' | *' '*) continue ;;
        esac
        if [ -d "$path" ] && [ ! -h "$path" ]; then
            add "vmkfstools-${path##*/}" vmkfstools -P -v 10 "$path"
        fi
    done
    set -f
    if tool=$(first storcli64 storcli perccli64 perccli); then
        add storcli-volumes "$tool" /call/vall show all J nolog
        add storcli-disks "$tool" /call/eall/sall show all J nolog
    fi
}

host=$(hostname 2>/dev/null || uname -n)
host=$(printf '%s' "${host%%.*}" | tr -c 'A-Za-z0-9_-' '-')
folder="$parent/straddle-$host-$(date +%Y%m%d-%H%M%S)"

echo "Looking for devices in /sys/block, with lsblk, or in /vmfs."
if have esxcli; then
    plan_esxi
else
    plan_linux
fi

echo "These commands will run; each only reads:"
printf '%s' "$plan" | while IFS=$tab read -r _ typed; do
    printf '  %s\n' "$typed"
done
echo "Their output goes into this new folder, and nothing is written elsewhere:"
printf '  %s\n' "$folder"
if [ "$only_list" = yes ]; then
    exit 0
fi
if [ "$(id -u 2>/dev/null)" != 0 ]; then
    echo "Not run by root: many of these commands will not be allowed to read."
fi
if [ -e "$folder" ] || [ -h "$folder" ] || ! mkdir "$folder"; then
    echo "straddle-collect.sh: $folder cannot be made anew; nothing was run" >&2
    exit 1
fi
# Some vendors' tools drop log files where they are run.
cd "$folder" || exit 1
HOME=$PWD
TMPDIR=$PWD
export HOME TMPDIR

# A command that hangs on a dying disk must not hold up the others.
limit=
if have timeout && timeout 5 true 2>/dev/null; then
    limit='timeout 120'
fi

# run NAME COMMAND…: its output with headings, what it said on standard error, and how it ended.
run() {
    file=$1.txt
    shift
    {
        echo "### host: $host"
        echo "### command: $*"
    } >"$file"
    if ! have "$1"; then
        echo "# not installed: $1" >>"$file"
        missing=$((missing + 1))
        return
    fi
    case $1 in
    grep)
        set +f
        # shellcheck disable=SC2048,SC2086 # the patterns are to be expanded
        $limit $* >>"$file" 2>.error </dev/null
        status=$?
        set -f
        ;;
    *)
        # shellcheck disable=SC2086 # empty, or two words
        $limit "$@" >>"$file" 2>.error </dev/null
        status=$?
        ;;
    esac
    if [ -s .error ]; then
        sed 's/^/# /' .error >>"$file"
    fi
    rm -f .error
    if [ $status -ne 0 ]; then
        echo "# exit status: $status" >>"$file"
        failed=$((failed + 1))
    fi
}

# A serial number as text: what stands behind its name in the output of the tools above, one a line.
numbers() {
    cat ./*.txt | awk '
        function say(text) {
            gsub(/^[ \t"]+|[ \t",]+$/, "", text)
            if (length(text) >= 4 && text !~ /^(null|none|unknown|n\/a|not available|0+)$/) print text
        }
        {
            line = $0
            low = tolower(line)
            # JSON.
            if (match(low, /"(serial|serial_number|serialnumber|serial number|sn|drive serial number)" *: *"[^"]*"/)) {
                part = substr(line, RSTART, RLENGTH)
                sub(/^"[^"]*" *: */, "", part)
                say(part)
            }
            # Pairs.
            if (match(line, /SERIAL="[^"]*"/)) say(substr(line, RSTART + 7, RLENGTH - 7))
            # `Serial Number: X`, `Serial No = X`, `sn : X`, `SN = X`.
            if (match(low, /^[ \t|#]*(drive |unit |disk |device |product |board |logical unit )*(serial *(number|no|num)?\.?|sn) *[:=]/))
                say(substr(line, RSTART + RLENGTH))
            # MegaCli writes model and number behind each other.
            if (low ~ /^inquiry data:/) {
                n = split(substr(line, 14), words, " ")
                for (i = 1; i <= n; i++)
                    if (length(words[i]) >= 8 && words[i] ~ /[0-9]/) say(words[i])
            }
            # `/sys/block/sda/device/serial:X`.
            if (match(line, /\/serial:/)) say(substr(line, RSTART + RLENGTH))
        }'
}

short_hash() {
    if have sha256sum; then
        printf '%s' "$1" | sha256sum | cut -c 1-12
    else
        printf '%s' "$1" | cksum | cut -d ' ' -f 1
    fi
}

# Puts hashes in place of serial numbers in all files. A number that a tool cut short has the hash of the whole one.
hide_serials() {
    set +f
    numbers | sort -u >.numbers
    : >.hashes
    whole=
    # Sorted, a number that begins like another stands in front of it.
    sort -r .numbers >.sorted
    while IFS= read -r number; do
        case $whole in
        "$number"*) ;;
        *) whole=$number ;;
        esac
        printf '%s\t%s\n' "$number" "sn-$(short_hash "$whole")" >>.hashes
    done <.sorted
    # The longest first: shorter ones may be parts of them.
    awk '{ print length($0) "\t" $0 }' .hashes | sort -rn | cut -f 2- >.sorted
    for file in ./*.txt; do
        awk -F '\t' '
            NR == FNR { from[++n] = $1; to[n] = $2; next }
            {
                line = $0
                named = tolower(line) ~ /serial|"?sn"? *[:=]/
                for (i = 1; i <= n; i++) {
                    # Few digits may be any number, except behind their name.
                    if (!named && length(from[i]) < 8 && from[i] ~ /^[0-9]+$/) continue
                    before = ""
                    while ((at = index(line, from[i])) > 0) {
                        size = length(from[i])
                        before = before substr(line, 1, at - 1)
                        apart = before !~ /[A-Za-z0-9]$/ && substr(line, at + size, 1) !~ /[A-Za-z0-9]/
                        before = before (apart ? to[i] : from[i])
                        line = substr(line, at + size)
                    }
                    line = before line
                }
                print line
            }' .sorted "$file" >.new && cat .new >"$file"
    done
    set -f
    rm -f .numbers .sorted .hashes .new
}

missing=0
failed=0
count=0
trap 'echo "interrupted: the folder is not complete" >&2; if [ $serials = hash ]; then hide_serials; fi; exit 130' INT TERM
while IFS=$tab read -r name typed; do
    if [ -n "$name" ]; then
        # shellcheck disable=SC2086 # words of a command
        run "$name" $typed
        count=$((count + 1))
    fi
done <<PLAN
$plan
PLAN
if [ $serials = hash ]; then
    hide_serials
fi
trap - INT TERM

echo "$count commands: $missing not installed, $failed failed; the files say which."
echo "Next, on any machine that has straddle:"
printf '  straddle check %s\n' "$folder"
