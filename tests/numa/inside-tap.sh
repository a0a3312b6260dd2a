# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The coschedule developers
# What the tests inside the machine share; sourced.  BUILD is the build
# directory.

checks=0 failures=0
look=$BUILD/tests/numa/look

# is NAME GOT WANTED
is() {
    checks=$((checks + 1))
    if [ "$2" = "$3" ]; then
        echo "ok $checks - $1"
    else
        failures=$((failures + 1))
        echo "not ok $checks - $1"
        printf '%s\n' "$2" | sed 's/^/#   got:    /'
        printf '%s\n' "$3" | sed 's/^/#   wanted: /'
    fi
}

# until_is NAME WANTED COMMAND...: the command's output gets to be WANTED.  On a
# busy host a command may take most of a minute here: it has its tries, too.
until_is() {
    local name=$1 wanted=$2 got= end=$((SECONDS + 60)) tries=15
    shift 2
    while got=$("$@"); [ "$got" != "$wanted" ] &&
        [ $SECONDS -lt $end -o $((--tries)) -gt 0 ]; do
        sleep 0.2
    done
    is "$name" "$got" "$wanted"
}

# as_numbers LIST: "0-2,5" -> "0 1 2 5"
as_numbers() {
    local part list=
    for part in $(echo "$1" | tr ',' ' '); do
        list="$list $(seq "${part%-*}" "${part#*-}" | tr '\n' ' ')"
    done
    echo $list
}

finish() {
    echo "1..$checks"
    [ $failures -eq 0 ] || echo "# $failures of $checks failed"
    [ $failures -eq 0 ]
    exit
}
