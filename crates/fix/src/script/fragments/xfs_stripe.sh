need mount mount
__reach__
at=$(mktemp -d "$folder/straddle-fix.XXXXXX") || die "cannot make a folder in $folder"
gone() { rmdir "$at" 2> /dev/null || :; }
at_end gone
doing='mounting it, which writes stripe unit and width'
way_back='it is as it was, or as planned: straddle check says which'
mount -t xfs -o sunit=__sunit__,swidth=__swidth__ "$part" "$at" || { doing=; die 'it was not mounted with these, and is as it was: the kernel log says why'; }
umount "$at" || fail "it is still mounted, at $at"
if [ -b "$part" ]; then blockdev --flushbufs "$part"; fi
have=$(od -An -v --endian=big -t u4 -j __unit_at__ -N 8 "$part" | awk '{ print $1, $2 }')
[ "$have" = '__unit__ __width__' ] || fail "the kernel left stripe unit and width at $have blocks, not __unit__ __width__: its log says why"
doing=
__release__
