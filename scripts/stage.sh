# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The coschedule developers
# Stages for ./demo and ./check: each prints one line with its time, keeps its
# output in a log, and shows the end of that log when it fails.  A terminal is told
# how long it has taken, and how long it took the last time.  To be sourced, with
# $program, $top (source tree) and $build (build tree) set.

stage_logs=$build/log
stage_failed=()

# stage NAME COMMAND...  Runs COMMAND; its status is the result.
stage() {
    local name=$1 log=$stage_logs/$1.log start=$SECONDS status ticker last=
    shift
    mkdir -p "$stage_logs"
    printf '%s: %-22s ' "$program" "$name"
    if [ -t 1 ]; then
        [ ! -r "$log.s" ] || last=" of about $(<"$log.s") s"
        while sleep 2; do
            printf '\r%s: %-22s %d s%s ' "$program" "$name" $((SECONDS - start)) "$last"
        done &
        ticker=$!
    fi
    "$@" >"$log" 2>&1 </dev/null
    status=$?
    if [ -t 1 ]; then
        kill "$ticker"
        wait "$ticker" 2>/dev/null
        printf '\r\033[K%s: %-22s ' "$program" "$name"
    fi
    if [ $status = 0 ]; then
        echo "ok, $((SECONDS - start)) s"
        echo $((SECONDS - start)) >"$log.s"
    else
        echo "FAILED, $((SECONDS - start)) s; the log is $log"
        tail -n "${STAGE_TAIL:-40}" "$log" | sed 's/^/    /'
        stage_failed+=("$name")
    fi
    return $status
}

# Build systems made once: generate configure, configure a directory.
stage_autoreconf() {
    [ "$top/configure" -nt "$top/configure.ac" ] &&
        [ -e "$top/Makefile.in" ] && [ -e "$top/build-aux/ltmain.sh" ] &&
        [ -e "$top/build-aux/depcomp" ] ||
        (cd "$top" && autoreconf -i)
}

# stage_configure DIRECTORY ARGUMENTS...: configures unless done with the same.
stage_configure() {
    local dir=$1
    shift
    mkdir -p "$dir" && cd "$dir" || return
    [ -e config.status ] && [ "$(cat .configured 2>/dev/null)" = "$*" ] &&
        [ config.status -nt "$top/configure" ] && return
    "$top/configure" "$@" && echo "$*" >.configured
}
