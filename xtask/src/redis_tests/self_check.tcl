# A unit of our own, run before Redis's: each way in which a test can end, and that the next one runs all the same.

start_server {tags {"self-check"}} {
    test "passes" {r ping} {PONG}
    test "returns something else" {r ping} {GNOP}
    test "fails an assertion" {assert_equal 1 2}
    test "gets an error" {r no-such-command}
    r no-such-command
    error "between tests"
    test "runs after errors between tests" {r ping} {PONG}
    # Two run into limits, which are shorter for them alone: others may take their time.
    test "waits for a reply" {
        set rd [redis_deferring_client]
        set ::reply_limit_ms 100
        catch {$rd read} error
        set ::reply_limit_ms $::env(REDIS_TESTS_REPLY_LIMIT_MS)
        error $error
    }
    test "has had no reply for long" {
        set rd [redis_deferring_client]
        # Nobody else is asked before the deadline.
        set ::reply_limit_ms [expr {10 * $::limit_ms}]
        set ::deadline [expr {[clock milliseconds] + 100}]
        catch {$rd read} error
        set ::reply_limit_ms $::env(REDIS_TESTS_REPLY_LIMIT_MS)
        error $error
    }
    test "goes on while it is answered" {
        set ::deadline [expr {[clock milliseconds] + $::limit_ms / 4}]
        r ping
        assert {$::deadline > [clock milliseconds] + $::limit_ms / 2}
    }
    test "breaks its connection" {
        r deferred 1
        r ping
        error "a reply is left"
    }
    test "has a new connection" {r echo new} {new}
    foreach reply {PONG GNOP} {
        test "occurs twice" {r ping} $reply
    }
    test "has a tag that is left out" {r ping} {PONG} {needs:debug}
    tags {needs:debug} {
        test "is within such a tag" {r ping} {PONG}
    }
    foreach one {1 2} {
        r no-such-command
        test "is in a loop with errors" {r ping} {PONG}
    }
    test "is the last one: 180°" {r ping} {PONG}
}
