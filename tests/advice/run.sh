# How the scripts beside this one are run: `bash run.sh SCRIPT` in an empty folder, which they leave behind. The command that fails
# ends a script, and is named.
set -Eeuo pipefail
trap 'echo "${BASH_SOURCE[0]}: line $LINENO: failed: $BASH_COMMAND" >&2' ERR
PATH=$PATH:/usr/sbin:/sbin
export LC_ALL=C
# not COMMAND...: it must fail. (`!` would not end the script.)
not() { ! "$@"; }
# says WORDS: they are in the input, which is read to its end.
says() { grep -e "$1" > /dev/null; }
. "$1"
