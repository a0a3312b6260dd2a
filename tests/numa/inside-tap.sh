# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The coschedule developers
# What the tests inside the machine share; sourced.  BUILD is the build
# directory.
#
# A busy host makes a command here take half a minute.  So nothing is expected
# at once that happens by itself: states are waited for, by far longer than they
# take, and what belongs together is looked at by one command.

checks=0 failures=0
look=$BUILD/tests/numa/look

# Seconds until a state that does not come is given up.
PATIENCE=900

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

# until_is NAME WANTED COMMAND...: the command's output gets to be WANTED.
# Says every minute what it is instead, and gives up when it says "never: WHY".
until_is() {
    local name=$1 wanted=$2 got= begin=$SECONDS said=$SECONDS
    shift 2
    while got=$("$@"); [ "$got" != "$wanted" ] && [ "${got#never:}" = "$got" ] &&
        [ $((SECONDS - begin)) -lt $PATIENCE ]; do
        if [ $((SECONDS - said)) -ge 60 ]; then
            said=$SECONDS
            echo "# $((SECONDS - begin)) s: $name: $got"
        fi
        sleep 0.2
    done
    is "$name" "$got" "$wanted"
}

# as_numbers LIST: "0-2,5" -> "0 1 2 5".  Starts no process.
as_numbers() {
    local part c list=
    for part in ${1//,/ }; do
        for ((c = ${part%-*}; c <= ${part#*-}; c++)); do
            list+=" $c"
        done
    done
    echo "${list# }"
}

finish() {
    echo "1..$checks"
    [ $failures -eq 0 ] || echo "# $failures of $checks failed"
    [ $failures -eq 0 ]
    exit
}
