# Loaded into the client of Redis's test runner, before a unit. It keeps Redis's own procedures and wraps them, so that
# a unit runs to its end whatever the server replies, and every test has a result.
#
# - An exception fails the test in which it happens, and the next test runs. Between tests it is noted, and the next
#   command of the unit runs.
# - A read fails when no reply has come for a while and the server answers PING twice on another connection, and when no reply has come for
#   long. A blocked client therefore fails its test, on a machine of any speed.
# - After a test that failed, the connections that it opened are closed and the main ones are new: nothing waits, is
#   subscribed or is in a transaction that the next test does not expect.
# - Results leave as lines of fields between tabs instead of packets.

set ::durable 1
set ::limit_ms $::env(REDIS_TESTS_LIMIT_MS)
set ::reply_limit_ms $::env(REDIS_TESTS_REPLY_LIMIT_MS)
set ::deadline [expr {[clock milliseconds] + $::limit_ms}]
# The tests that are running: one may contain another.
set ::running {}
set ::failed_now 0

# Names and values may hold any letter, and a line has one end.
fconfigure $::test_server_fd -encoding utf-8 -translation {auto lf}

# Replaces Redis's own: a packet becomes a line of three fields, which are the status, the test and the details.
proc send_data_packet {fd status data {elapsed 0}} {
    set name [lindex $::running end]
    if {$status eq "err"} {
        set ::failed_now 1
        if {$name eq ""} {set status note}
        report $fd $status $name $data
    } elseif {$status in {ok skip}} {
        report $fd $status $name ""
    } elseif {$status eq "ignore"} {
        report $fd skip $name $data
    } elseif {$status eq "done"} {
        report $fd done "" ""
    }
}

proc report {fd args} {
    set fields {}
    foreach field $args {
        lappend fields [string map {\\ \\\\ \t \\t \n \\n \r \\r} $field]
    }
    puts $fd [join $fields \t]
    flush $fd
}

proc note {error} {
    report $::test_server_fd note "" $error
}

rename test redis_test
proc test {name args} {
    lappend ::running $name
    set outer_deadline $::deadline
    set outer_failed $::failed_now
    set ::failed_now 0
    set ::deadline [expr {[clock milliseconds] + $::limit_ms}]
    set newest_client $::redis::id
    report $::test_server_fd testing $name ""
    catch {uplevel 1 [list redis_test $name {*}$args]}
    set ::deadline [expr {max($outer_deadline, [clock milliseconds] + $::limit_ms)}]
    if {$::failed_now} {start_afresh $newest_client}
    set ::failed_now $outer_failed
    set ::running [lrange $::running 0 end-1]
}

# Closes clients that are newer than `newest`, and connects the main client of every server anew.
proc start_afresh {newest} {
    foreach id [array names ::redis::fd] {
        if {$id > $newest} {catch {::redis::redisHandle$id close}}
    }
    for {set level 0} {$level > -[llength $::servers]} {incr level -1} {
        if {[catch {reconnect $level} error]} {note "reconnecting: $error"}
    }
}

# Outside of tests, an error reply is noted, and the unit goes on as if there had been an empty reply.
rename r redis_r
proc r {args} {
    set code [catch {redis_r {*}$args} reply options]
    if {$code == 1 && [llength $::running] == 0} {
        note "$args: $reply"
        return ""
    }
    return -options $options $reply
}

# Runs the commands of a script one by one; an error ends only the command in which it happens.
proc go_on {script} {
    set command ""
    foreach line [split $script \n] {
        append command $line \n
        if {![info complete $command]} continue
        set code [catch {uplevel 1 $command} result options]
        if {$code == 1} {
            note $result
        } elseif {$code != 0} {
            return -options $options $result
        }
        set ::deadline [expr {[clock milliseconds] + $::limit_ms}]
        set command ""
    }
    if {[string trim $command] ne ""} {note "an unfinished command: $command"}
}

rename tags redis_tags
proc tags {tags code} {
    uplevel 1 [list redis_tags $tags [list go_on $code]]
}

rename start_server redis_start_server
proc start_server {options {code undefined}} {
    if {$code ne "undefined"} {set code [list go_on $code]}
    uplevel 1 [list redis_start_server $options $code]
}

# Waits until something can be read from a connection, or until it is known that nothing will be.
proc ::redis::await {fd} {
    if {$fd eq "" || [chan pending input $fd] > 0} return
    set limit [expr {[clock milliseconds] + $::reply_limit_ms}]
    if {[readable_by $fd $limit] || [answered_after_others $fd]} {
        # Who is answered goes on: only silence ends a test.
        set ::deadline [expr {[clock milliseconds] + $::limit_ms}]
        return
    }
    error "no reply in time"
}

# Whether there is a reply once others have theirs, who asked later. The server may only be slow: then it answers PING late, too, and
# first what was asked before.
proc ::redis::answered_after_others {fd} {
    if {[clock milliseconds] >= $::deadline} {return 0}
    set other [socket $::host $::port]
    fconfigure $other -translation binary -blocking 0
    # The second is asked when the first is answered: a connection may have its turn before another.
    for {set n 0} {$n < 2} {incr n} {
        puts -nonewline $other "PING\r\n"
        flush $other
        readable_by $other $::deadline
        read $other
    }
    close $other
    # What was sent at once may still be on its way.
    return [readable_by $fd [expr {[clock milliseconds] + 100}]]
}

# Whether something can be read from a connection at a time, or once there was no reply for long; waits for it until then.
proc ::redis::readable_by {fd time} {
    set left [expr {max(0, min($time, $::deadline) - [clock milliseconds])}]
    set handler [fileevent $fd readable]
    fileevent $fd readable [list set ::redis::readable 1]
    set timer [after $left [list set ::redis::readable 0]]
    vwait ::redis::readable
    after cancel $timer
    fileevent $fd readable $handler
    return $::redis::readable
}

foreach name {redis_safe_read redis_safe_gets} {
    rename ::redis::$name ::redis::unlimited_$name
    proc ::redis::$name {fd args} "await \$fd; unlimited_$name \$fd {*}\$args"
}
