work=$(mktemp -d "$folder/straddle-fix.XXXXXX")
# A filesystem of smaller blocks could not be mounted in larger sectors. A volume in a file is not looked into: the kernel
# maps devices only.
if [ -b "$part" ]; then
    need blkid util-linux
    inside=straddle-fix-$$
    cryptsetup open --readonly "$@" "$part" "$inside" || die 'it could not be opened, to look at the blocks of what is in it'
    # Of XFS that is its sector, which its blocks may be larger than.
    block=$(blkid -p -o value -s BLOCK_SIZE "/dev/mapper/$inside" || true)
    holds=$(blkid -p -o value -s PTTYPE -s TYPE "/dev/mapper/$inside" || true)
    cryptsetup close "$inside"
    [ -z "$block" ] || [ "$block" -ge __to__ ] || die "what is in it has blocks or sectors of $block bytes, and could not be mounted in sectors of __to__"
    case $holds in
    LVM2_member | dos | gpt) die "it holds $holds, and what is in there is not looked at: open it, see that all of it has sectors of __to__ (xfs_info), unmount it, and cryptsetup reencrypt --sector-size __to__ by hand, with the volume open" ;;
    esac
fi
cryptsetup luksHeaderBackup -q --header-backup-file "$work/header" "$part" || die 'its header could not be copied'
say "its header as it was: $work/header"
doing='re-encrypting'
way_back="cryptsetup reencrypt --resume-only goes on with it; its header as it was is in $work/header, for as long as it was not begun"
# It is closed, and what is in it fits: what this option would leave to whoever gives it.
cryptsetup reencrypt -q --sector-size __to__ --force-offline-reencrypt "$@" "$part"
doing=
