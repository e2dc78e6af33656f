//! Ways to be in use. Lines of shell with `$IMG` (the image), `$D` (a loop device over it, where the way is one of devices; its partitions
//! are `$D`p1 to p5), `$OTHER` (another, empty loop device) and `$T` (a folder). What a way needs to be ended is noted with `later`.

/// What the way is about.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Of {
    /// The image file.
    Image,
    /// A device, whole; its first partition is in use where the way says nothing else.
    Device,
}

pub(crate) struct Way {
    pub(crate) of: Of,
    pub(crate) make: &'static str,
    /// The partitions that are in use by it: scripts for others may run.
    pub(crate) partitions: &'static [u32],
}

/// What ways call; what is given to `later` is done at the end, the last first.
const FUNCTIONS: &str = r#"
set -eu
ends=:
later() { ends="$*; $ends"; }
attach() { DEVICE=$(losetup --find --show "$@"); later losetup --detach "$DEVICE"; }
node() { mknod "$2" b $(stat -L -c '0x%t 0x%T' "$1"); }
# hold HOW FILE: a process that has it open
hold() { eval "sleep 600 $1 \"\$2\" &"; later kill $!; until [ "$(readlink "/proc/$!/exe")" = "$(readlink -f "$(command -v sleep)")" ]; do sleep 0.02; done; }
# elsewhere LINES [HOW FILE]: in a mount namespace of its own
elsewhere() {
    touch "$T/file"
    unshare --mount --propagation private sh -c "$1; touch $T/there; exec sleep 600 ${2:-} ${3:-}" &
    later "kill $!; wait $! || :"
    until [ -e "$T/there" ] && [ "$(readlink "/proc/$!/exe")" = "$(readlink -f "$(command -v sleep)")" ]; do sleep 0.02; done
}
# What must not change.
bytes() { cat "$IMG"; }
# What was written to them is in the image then, and nobody waits for what others write.
settle() { sync ${D:+$D ${D}p[1-5]} "$IMG"; }
kept=/dev/shm/straddle-kept-$$
# swap_to DEVICE: the fifth partition. A kernel short of memory does write to it, behind the page of its header.
swap_to() {
    swapon "$1"
    bytes() { head -c $(((190034 + 8) * 512)) "$IMG"; tail -c +$(((190034 + 100000) * 512 + 1)) "$IMG"; }
}
mkdir "$T/m" "$T/m2"
"#;

/// Lines that run scripts while the way is on, each with what it said and whether the disk's bytes are what they were. With `$D`, a
/// device, `bench` is given all of it, whatever is on it.
pub(crate) fn tried(way: &Way, scripts: &[&str], set_up: &str) -> String {
    let scripts = scripts.join(" ");
    let bench = match way.of {
        Of::Image => "",
        Of::Device => {
            "status=0; \"$STRADDLE\" bench --destroy-data $D --yes-destroy ${D##*/} --overwrite-signatures --rw write --size 1M > said 2>&1 || status=$?
             [ $status = 2 ] && grep -q ' is in use: .*nothing was written' said || { echo \"bench: $status\"; cat said; }"
        }
    };
    format!(
        "{set_up}
{FUNCTIONS}
         trap 'set +e; eval \"$ends\" > /dev/null 2>&1; rm -f \"$kept\"' EXIT
         {make}
         settle; bytes > \"$kept\"
         for script in {scripts}; do
             status=0; LUKS_KEY_FILE=key dash $script --yes > said 2>&1 || status=$?
             [ $status = 2 ] && grep -q '^refused, nothing was written: .*\\(mounted\\|open\\|attached\\|part of\\|used for\\|holds\\|stands on\\|a device of\\|Device or resource busy\\)' said || {{ echo \"$script: $status\"; cat said; }}
         done
         {bench}
         settle; bytes | cmp -s - \"$kept\" || echo 'it was written to'",
        make = way.make,
    )
}

/// The ways of an image of whatever contents, for a script that is alone with it: all in a soak, else every third.
pub(crate) fn of_any_image() -> Vec<&'static Way> {
    // Some mount what is at a place of the image.
    let fit = |way: &&Way| way.of == Of::Image && !way.make.contains("noload");
    let step = if straddle_testkit::is_soak() { 1 } else { 3 };
    WAYS.iter().filter(fit).step_by(step).collect()
}

const ALL: &[u32] = &[1, 2, 3, 4];
const FIRST: &[u32] = &[1];
const NONE: &[u32] = &[];

const fn image(make: &'static str) -> Way {
    Way {
        of: Of::Image,
        make,
        partitions: ALL,
    }
}

const fn device(make: &'static str) -> Way {
    Way {
        of: Of::Device,
        make,
        partitions: ALL,
    }
}

const fn first(make: &'static str) -> Way {
    Way {
        of: Of::Device,
        make,
        partitions: FIRST,
    }
}

const fn fifth(make: &'static str) -> Way {
    Way {
        of: Of::Device,
        make,
        partitions: NONE,
    }
}

pub(crate) const WAYS: &[Way] = &[
    // Loop devices over an image.
    image("attach \"$IMG\""),
    image("attach --read-only \"$IMG\""),
    image("attach --offset 17408 --sizelimit 20480000 \"$IMG\""),
    image("attach --offset 1048576 \"$IMG\""),
    image("ln -s \"$IMG\" $T/symlink; attach $T/symlink"),
    image("ln \"$IMG\" $T/hardlink; attach $T/hardlink"),
    image("ln \"$IMG\" $T/gone; attach $T/gone; rm $T/gone"),
    image("ln \"$IMG\" $T/before; attach $T/before; mv $T/before $T/after"),
    image(
        "mkdir $T/bind; mount --bind \"${IMG%/*}\" $T/bind; later umount $T/bind; attach $T/bind/disk.img",
    ),
    image("attach \"$IMG\"; L=$DEVICE; attach $L"),
    image(
        "attach --offset 17408 --sizelimit 20480000 \"$IMG\"; mount -o ro,noload $DEVICE $T/m; later umount $T/m",
    ),
    image(
        "attach --offset 17408 --sizelimit 20480000 \"$IMG\"; elsewhere \"mount -o ro,noload $DEVICE $T/m\"",
    ),
    // Processes.
    image("hold '<>' \"$IMG\""),
    image("hold '>>' \"$IMG\""),
    image("ln \"$IMG\" $T/hardlink; hold '<>' $T/hardlink"),
    image("ln \"$IMG\" $T/gone; hold '<>' $T/gone; rm $T/gone"),
    image("ln -s \"$IMG\" $T/symlink; hold '>>' $T/symlink"),
    image("elsewhere \"mount --bind $IMG $T/file\" '<>' $T/file"),
    image(
        "qemu-io -f raw -c 'sleep 600000' \"$IMG\" > /dev/null & later kill $!; until grep -q -s qemu-io /proc/$!/comm && ls -l /proc/$!/fd | grep -q disk.img; do sleep 0.05; done",
    ),
    image(
        "qemu-nbd --format=raw --socket=$T/nbd --persistent \"$IMG\" & later kill $!; until [ -S $T/nbd ]; do sleep 0.05; done",
    ),
    image(
        "tail -f /dev/null 3>> \"$IMG\" & later kill $!; until [ \"$(cat /proc/$!/comm)\" = tail ]; do sleep 0.02; done",
    ),
    // Mounts of a partition, by whatever name and wherever.
    first("mount -o ro,noload ${D}p1 $T/m; later umount $T/m"),
    first(
        "mount -o ro,noload ${D}p1 $T/m; mount --bind $T/m $T/m2; umount $T/m; later umount $T/m2",
    ),
    first("mount -o ro,noload ${D}p1 $T/m; hold '<' $T/m/lost+found; umount -l $T/m"),
    first("elsewhere \"mount -o ro,noload ${D}p1 $T/m\""),
    first("node ${D}p1 $T/node; mount -o ro,noload $T/node $T/m; later umount $T/m"),
    first("node ${D}p1 $T/node; mount -o ro,noload $T/node $T/m; rm $T/node; later umount $T/m"),
    first("node ${D}p1 $T/node; elsewhere \"mount -o ro,noload $T/node $T/m; rm $T/node\""),
    first("ln -s ${D}p1 $T/root; mount -o ro,noload $T/root $T/m; later umount $T/m"),
    first(
        "touch $T/ns; mount --bind $T $T; mount --make-private $T; unshare --mount=$T/ns mount -o ro,noload ${D}p1 $T/m; later umount -l $T",
    ),
    // Loop devices over a device, and over what lies on it.
    first("attach ${D}p1"),
    first("attach --read-only --offset 4096 ${D}p1"),
    device("attach $D"),
    device("attach --offset 17408 $D"),
    first("node ${D}p1 $T/node; attach $T/node"),
    first("node ${D}p1 /dev/shm/straddle-$$; attach /dev/shm/straddle-$$; rm /dev/shm/straddle-$$"),
    first("attach ${D}p1; L=$DEVICE; mount -o ro,noload $L $T/m; later umount $T/m"),
    // What the kernel holds without a mount of its own.
    fifth("mkswap ${D}p5 > /dev/null 2>&1; swap_to ${D}p5; later swapoff ${D}p5"),
    fifth(
        "mkswap ${D}p5 > /dev/null 2>&1; node ${D}p5 $T/node; swap_to $T/node; later swapoff $T/node",
    ),
    fifth(
        "mkswap ${D}p5 > /dev/null 2>&1; node ${D}p5 $T/node; swap_to $T/node; rm $T/node; later swapoff ${D}p5",
    ),
    fifth(
        "mke2fs -q -O journal_dev -b 1024 ${D}p5 > /dev/null; mke2fs -q -t ext4 -b 1024 -J device=${D}p5 $OTHER > /dev/null; mount -o ro $OTHER $T/m; later umount $T/m",
    ),
    fifth(
        "mkfs.xfs -q -f --unsupported -l logdev=${D}p5 $OTHER > /dev/null 2>&1; mount -t xfs -o ro,logdev=${D}p5 $OTHER $T/m; later umount $T/m",
    ),
    fifth(
        "mkfs.btrfs -q -f --mixed -d single -m single $OTHER ${D}p5 > /dev/null; mount -o ro,device=$OTHER,device=${D}p5 $OTHER $T/m; later umount $T/m",
    ),
    fifth(
        "mkfs.btrfs -q -f --mixed -d single -m single ${D}p5 $OTHER > /dev/null; elsewhere \"mount -o ro,device=$OTHER,device=${D}p5 $OTHER $T/m\"",
    ),
    // Who has it open.
    device("hold '<>' $D"),
    first("hold '<>' ${D}p1"),
    first("hold '>>' ${D}p1"),
    first("node ${D}p1 $T/node; hold '<>' $T/node"),
    device("node $D $T/node; hold '<>' $T/node; rm $T/node"),
    device("ln -s $D $T/symlink; hold '<>' $T/symlink"),
];
