# A bcache backing device whose data begin at 1 MiB.
. ./bcache.inc
bcache "$1" '\000\010' '\225\174\267\163\255\076\164\025'
