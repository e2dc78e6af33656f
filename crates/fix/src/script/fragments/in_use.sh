# number_of DEVICE: its major and minor number, as the kernel prints them
number_of() {
    pair=$(stat -L -c '%t %T' "$1")
    echo "$((0x${pair% *})):$((0x${pair#* }))"
}

# Whether what root alone can see was said to be out of sight.
told_limits=no

# numbers_of FILE: sets `its` to what it is known by, whatever it is called: of a block device its number, those of its partitions, and
# that of the disk that it is a part of; of an image the number of its filesystem, and its inode
numbers_of() {
    if [ ! -b "$1" ]; then
        its=f$(stat -L -c %d:%i "$1")
        return
    fi
    its=$(number_of "$1")
    sys=/sys/dev/block/$its
    [ -e "$sys" ] || die "$sys is not there: without sysfs nobody can tell what stands on $1"
    if [ -e "$sys/partition" ]; then its="$its $(cat "$sys/../dev")"; fi
    for entry in "$sys"/*/partition; do
        if [ -e "$entry" ]; then its="$its $(cat "${entry%/partition}/dev")"; fi
    done
}

# is_its FILE: whether that is what `its` says
is_its() {
    if [ -b "$1" ]; then other=$(number_of "$1"); else other=f$(stat -L -c %d:%i "$1" 2> /dev/null) || return 1; fi
    case " $its " in *" $other "*) ;; *) return 1 ;; esac
}

# named_users: what the kernel and zpool use by its name, a line for each: what for, a tab, the name
named_users() {
    awk 'NR > 1 { print "used for swapping\t" $1 }' /proc/swaps 2> /dev/null
    for user in /sys/kernel/config/target/core/*/*/udev_path /sys/kernel/config/nvmet/subsystems/*/namespaces/*/device_path; do
        if [ -r "$user" ]; then printf 'exported by %s\t%s\n' "$user" "$(cat "$user")"; fi
    done
    if command -v zpool > /dev/null 2>&1; then
        { zpool status -P || zpool status; } 2> /dev/null | awk '$1 ~ "^/" { print "in a ZFS pool\t" $1 }'
    fi
}

# not_in_use DEVICE [HOLDER]: neither it, nor a partition of it, nor the disk that it is a part of, under any name; except by HOLDER;
# `dm` stands for all of device-mapper, `zfs` for every pool
not_in_use() {
    [ -r /proc/self/mountinfo ] || die "/proc is not mounted: without it nobody can tell whether $1 is in use"
    if [ "$told_limits" = no ] && [ "$(id -u)" != 0 ]; then
        say 'not run as root: what processes of other users have open or mounted cannot be seen from here'
    fi
    told_limits=yes
    numbers_of "$1"
    place=$(cat /proc/[0-9]*/mountinfo 2> /dev/null | awk -v its=" $its " 'index(its, " " $3 " ") && !place { place = $5 } END { print place }')
    [ -z "$place" ] || die "$1, or a partition of it, is mounted at $place, here or in another mount namespace: umount it"
    for member in /sys/fs/btrfs/*/devices/*/dev; do
        [ -e "$member" ] || continue
        case " $its " in *" $(cat "$member") "*) die "$1, or a partition of it, is a device of a btrfs that is mounted" ;; esac
    done
    while IFS='	' read -r user member; do
        # In /proc/swaps a blank is \040.
        if [ -z "$member" ] || ! is_its "$(printf '%b' "$member")"; then continue; fi
        case $user in *ZFS*) [ "${2-}" != zfs ] || continue ;; esac
        die "$1, or a partition of it, is $user: stop that first"
    done << END
$(named_users)
END
    for number in $its; do
        for held in "/sys/dev/block/$number/holders"/*; do
            [ -e "$held" ] || continue
            holder=${held##*/}
            case $holder in dm-*) holder=dm ;; esac
            [ "$holder" = "${2-}" ] || die "$1, or a partition of it, is part of ${held##*/}: stop that first"
        done
    done
    not_attached "$1"
    not_written "$1"
    if [ -b "$1" ] && [ -z "${2-}" ]; then
        # It opens the device exclusively for writing, and with --no-act writes nothing.
        why=$(wipefs --all --no-act "$1" 2>&1 > /dev/null) || die "$1 cannot be opened exclusively: something holds it or a partition of it ($why)"
    fi
}

# not_attached FILE: no loop device stands on it, at whatever offset; what is behind one has lost its name when it was renamed
not_attached() {
    inode=
    if [ ! -b "$1" ]; then
        inode=$(stat -L -c '%i %d' "$1")
        number=${inode#* }
        inode="${inode% *} $((number >> 8 & 0xfff | number >> 32 & 0xfffff000)):$((number & 0xff | number >> 12 & 0xffffff00))"
    fi
    for backing in /sys/block/loop*/loop/backing_file; do
        [ -e "$backing" ] || continue
        attached_as=${backing%/loop/backing_file}
        attached_as=/dev/${attached_as##*/}
        backing=$(cat "$backing") || continue
        behind=$(losetup --list --noheadings --output BACK-INO,BACK-MAJ:MIN "$attached_as" 2> /dev/null | awk '{ print $1, $2 }')
        if [ -n "$inode" ] && [ "$behind" = "$inode" ] || is_its "${backing% (deleted)}"; then
            die "$1, or the disk that it is a part of, is attached to a loop device, $attached_as: losetup --detach $attached_as"
        fi
        # A node that is gone, or that another namespace has. Nodes of devices lie in memory, and so have no device of their own.
        case $behind in
        *' '0:*)
            if [ -b "$1" ] && [ ! -e "${backing% (deleted)}" ]; then
                die "$attached_as stands on $backing, which cannot be seen from here, and may be $1: losetup --detach $attached_as"
            fi
            ;;
        esac
    done
}

# not_written FILE: no other process has it open for writing
not_written() {
    known=$its
    for number in $its; do
        case $number in f*) ;; *) known="$known b$(printf '%x:%x' "${number%:*}" "${number#*:}")" ;; esac
    done
    for file in $(find /proc/[0-9]*/fd -type l -exec stat -L -c '%f %t:%T %d:%i %n' {} + 2> /dev/null |
        awk -v its=" $known " '{ what = length($1) == 4 && $1 ~ /^6/ ? "b" $2 : "f" $3 } index(its, " " what " ") { print $4 }'); do
        process=${file#/proc/}
        process=${process%%/*}
        flags=$(sed -n 's/^flags:[^0-9]*//p' "/proc/$process/fdinfo/${file##*/}" 2> /dev/null) || continue
        case $flags in
        *[1256])
            [ "$process" = $$ ] || die "$1, or a partition of it, is open for writing in process $process ($(cat "/proc/$process/comm" 2> /dev/null)): end that first"
            ;;
        esac
    done
}
