# A bcache backing device whose data begin at 8 KiB, as make-bcache puts them.
. ./bcache.inc
bcache "$1" '\020\000' '\262\113\362\143\321\153\134\172'
