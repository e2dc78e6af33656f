say() { printf '%s\n' "$*"; }

begun=
said=no
die() {
    said=yes
    printf 'refused, %s was written: %s\n' "${begun:-nothing}" "$*" >&2
    exit 2
}

# fail WORDS: when something was written already
fail() {
    said=yes
    printf 'stopped in the middle: %s\n' "$*" >&2
    exit 1
}

# What is being written, and what leads back from there; and what is true when nothing is.
doing=
way_back=
state='nothing was written'

# at_end FUNCTION: it runs when the script ends, however it does; the last first
at_end() { endings="$1 $endings"; }
endings=
ended() {
    status=$?
    for each in $endings; do "$each"; done
    if [ "$status" != 0 ] && [ -n "$doing" ]; then
        printf 'stopped while %s; %s\n' "$doing" "$way_back" >&2
    elif [ "$status" != 0 ] && [ "$said" = no ]; then
        printf 'ended with an error; %s\n' "$state" >&2
    fi
}
trap ended EXIT
trap 'exit 1' HUP INT TERM
