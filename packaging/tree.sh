# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The coschedule developers
# For check-deb and check-rpm: a tree to install packages into, with a shell for
# their scripts and stubs that note how they are called; nothing of the host's.

me=${0##*/}

fail() { echo "$me: $*" >&2; exit 1; }

# Only root, also of a user namespace, changes its root.
[ "$(id -u)" = 0 ] || exec unshare --user --map-root-user "$0" "$@"

tree=$(mktemp -d)
trap 'rm -rf "$tree"' EXIT
calls=$tree/calls

# STUB...: paths in the tree.
make_tree() {
    local library stub
    mkdir -p "$tree/bin" "$tree/dev" "$tree/run/systemd/system"
    : >"$tree/dev/null"
    cp -L "$(command -v sh)" "$tree/bin/sh"
    ldd "$tree/bin/sh" | grep -o '/[^ ]*' | while read -r library; do
        mkdir -p "$tree${library%/*}"
        cp -L "$library" "$tree$library"
    done
    for stub in "$@"; do
        mkdir -p "$tree/${stub%/*}"
        printf '#!/bin/sh\necho "%s $*" >>/calls\n' "${stub##*/}" >"$tree/$stub"
        chmod 755 "$tree/$stub"
    done
    before=$(files_of_tree)
}

files_of_tree() {
    (cd "$tree" && find . ! -type d ! -path './db/*' ! -path ./calls ! -path ./out | sort)
}

# PHASE COMMAND...: changes the packages in the tree.
phase() {
    phase=$1
    shift
    : >"$calls"
    "$@" >"$tree/out" 2>&1 || { cat "$tree/out" >&2; fail "$phase: $1 failed"; }
    ! grep -E 'scriptlet failed|subprocess returned error' "$tree/out" ||
        fail "$phase: see above"
}

# PATTERN of a line that the stubs must, or must not, have noted in this phase.
called() {
    grep -q -x -E -e "$1" "$calls" ||
        { cat "$calls" >&2; fail "$phase: no call like '$1' among the above"; }
}

never_called() {
    ! grep -E -e "$1" "$calls" || fail "$phase: called as above"
}

installed() {
    [ -x "$tree/usr/sbin/coschedd" ] || fail "$phase: no coschedd"
}

nothing_left() {
    local left
    left=$(files_of_tree | comm -13 <(echo "$before") -
           find "$tree" -iname '*cosched*' ! -path "$tree/db/*")
    [ -z "$left" ] || fail "$phase: left behind: $left"
}
