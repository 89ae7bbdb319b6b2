//! Each command with its options and errors. The answers are those of redis-server 7.0.15.

use super::region::play;

#[test]
fn pushes_answer_the_length() {
    play(
        "LPUSH k => ERR wrong number of arguments for 'lpush' command
        RPUSH k => ERR wrong number of arguments for 'rpush' command
        LPUSHX k => ERR wrong number of arguments for 'lpushx' command
        RPUSHX k => ERR wrong number of arguments for 'rpushx' command
        LPUSHX k a b => 0
        RPUSHX k a b => 0
        TYPE k => none
        RPUSH k a b => 2
        TYPE k => list
        LPUSH k x y z => 5
        LRANGE k 0 -1 => ['z' 'y' 'x' 'a' 'b']
        LPUSHX k p q => 7
        RPUSHX k c d => 9
        LRANGE k 0 -1 => ['q' 'p' 'z' 'y' 'x' 'a' 'b' 'c' 'd']
        LLEN k => 9
        RPUSH k \"\" => 10
        LINDEX k -1 => ''
        LLEN k x => ERR wrong number of arguments for 'llen' command
        DEL k => 1
        LLEN k => 0
        LPUSH k 1 2 3 => 3
        LRANGE k 0 -1 => ['3' '2' '1']",
    );
}

#[test]
fn pops_take_from_the_ends() {
    play(
        "LPOP k => nil
        RPOP k => nil
        LPOP k 2 => nil-array
        RPOP k 0 => nil-array
        LPOP k -1 => ERR value is out of range, must be positive
        RPOP k x => ERR value is out of range, must be positive
        LPOP k 1 2 => ERR wrong number of arguments for 'lpop' command
        RPOP k 1 2 => ERR wrong number of arguments for 'rpop' command
        RPUSH k a b c d e f g => 7
        LPOP k => 'a'
        RPOP k => 'g'
        LPOP k 0 => []
        RPOP k 0 => []
        LPOP k 1 => ['b']
        RPOP k 2 => ['f' 'e']
        LPOP k 9223372036854775808 => ERR value is out of range, must be positive
        LLEN k => 2
        RPOP k 9223372036854775807 => ['d' 'c']
        EXISTS k => 0
        RPUSH k a => 1
        LPOP k => 'a'
        TYPE k => none
        RPUSH k a b => 2
        LPOP k 2 => ['a' 'b']
        TYPE k => none
        LPOP k => nil",
    );
}

#[test]
fn elements_are_read_by_index() {
    play(
        "LINDEX k 0 => nil
        LINDEX k x => nil
        LINDEX k => ERR wrong number of arguments for 'lindex' command
        LRANGE k 0 -1 => []
        LRANGE k x 1 => ERR value is not an integer or out of range
        LRANGE k 1 x => ERR value is not an integer or out of range
        LRANGE k 1 => ERR wrong number of arguments for 'lrange' command
        RPUSH k a b c d => 4
        LINDEX k 0 => 'a'
        LINDEX k 3 => 'd'
        LINDEX k 4 => nil
        LINDEX k -1 => 'd'
        LINDEX k -4 => 'a'
        LINDEX k -5 => nil
        LINDEX k -9223372036854775808 => nil
        LINDEX k x => ERR value is not an integer or out of range
        LRANGE k 1 2 => ['b' 'c']
        LRANGE k 2 1 => []
        LRANGE k -3 -2 => ['b' 'c']
        LRANGE k -100 100 => ['a' 'b' 'c' 'd']
        LRANGE k 3 9223372036854775807 => ['d']
        LRANGE k 4 9 => []
        LRANGE k 1 -9 => []
        LRANGE k 0 0 => ['a']
        LRANGE k -9223372036854775808 -9223372036854775808 => []
        LRANGE k 9223372036854775807 9223372036854775807 => []",
    );
}

#[test]
fn elements_are_set_and_inserted() {
    play(
        "LSET k 0 a => ERR no such key
        LSET k x a => ERR no such key
        LSET k 0 => ERR wrong number of arguments for 'lset' command
        LINSERT k BEFORE a b => 0
        LINSERT k BESIDE a b => ERR syntax error
        LINSERT k BEFORE a => ERR wrong number of arguments for 'linsert' command
        RPUSH k a b c => 3
        LSET k 0 x => OK
        LSET k -1 z => OK
        LSET k 3 y => ERR index out of range
        LSET k -4 y => ERR index out of range
        LSET k x y => ERR value is not an integer or out of range
        LRANGE k 0 -1 => ['x' 'b' 'z']
        LSET k 1 \"\" => OK
        LINSERT k before z w => 4
        LINSERT k AFTER z w => 5
        LINSERT k AFTER nowhere w => -1
        LINSERT k BESIDE z w => ERR syntax error
        LRANGE k 0 -1 => ['x' '' 'w' 'z' 'w']
        LINSERT k Before x first => 6
        LINSERT k After w second => 7
        LRANGE k 0 -1 => ['first' 'x' '' 'w' 'second' 'z' 'w']
        LINSERT k AFTER w third => 8
        LINSERT k BEFORE second fourth => 9
        LRANGE k 3 6 => ['w' 'third' 'fourth' 'second']",
    );
}

#[test]
fn elements_are_removed_by_value_and_by_index() {
    play(
        "LREM k 0 a => 0
        LREM k x a => ERR value is not an integer or out of range
        LREM k 0 => ERR wrong number of arguments for 'lrem' command
        LTRIM k 0 1 => OK
        LTRIM k x 1 => ERR value is not an integer or out of range
        LTRIM k 1 x => ERR value is not an integer or out of range
        LTRIM k 1 => ERR wrong number of arguments for 'ltrim' command
        RPUSH k a b a c a d a => 7
        LREM k 1 a => 1
        LREM k -2 a => 2
        LREM k 0 x => 0
        LRANGE k 0 -1 => ['b' 'a' 'c' 'd']
        RPUSH k a a => 6
        LREM k 0 a => 3
        LREM k -9223372036854775808 d => 1
        LREM k 9223372036854775807 c => 1
        LREM k 5 b => 1
        EXISTS k => 0
        RPUSH k x x x => 3
        LREM k 0 x => 3
        EXISTS k => 0
        RPUSH k a b c d e f => 6
        LTRIM k 1 -2 => OK
        LRANGE k 0 -1 => ['b' 'c' 'd' 'e']
        LTRIM k -3 9223372036854775807 => OK
        LTRIM k -100 1 => OK
        LRANGE k 0 -1 => ['c' 'd']
        LTRIM k 0 -1 => OK
        LLEN k => 2
        LTRIM k 1 0 => OK
        EXISTS k => 0
        RPUSH k a b => 2
        LTRIM k 5 9 => OK
        EXISTS k => 0
        RPUSH k a b => 2
        LTRIM k 0 -9 => OK
        TYPE k => none",
    );
}

#[test]
fn elements_are_found() {
    play(
        "LPOS k a => nil
        LPOS k a COUNT 1 => []
        LPOS k => ERR wrong number of arguments for 'lpos' command
        LPOS k a RANK => ERR syntax error
        LPOS k a NEAR 1 => ERR syntax error
        RPUSH k a b c 1 2 3 c c => 8
        LPOS k a => 0
        LPOS k c => 2
        LPOS k c RANK 1 => 2
        LPOS k c RANK 2 => 6
        LPOS k c RANK 4 => nil
        LPOS k c RANK -1 => 7
        LPOS k c rank -2 => 6
        LPOS k c COUNT 0 => [2 6 7]
        LPOS k c COUNT 1 => [2]
        LPOS k c COUNT 2 => [2 6]
        LPOS k c COUNT 100 => [2 6 7]
        LPOS k c COUNT 0 RANK 2 => [6 7]
        LPOS k c COUNT 2 RANK -1 => [7 6]
        LPOS k c COUNT 0 RANK -3 => [2]
        LPOS k b COUNT 10 RANK 5 => []
        LPOS k c COUNT 0 RANK 9223372036854775807 => []
        LPOS k c COUNT 0 MAXLEN 1 => []
        LPOS k c COUNT 0 MAXLEN 3 => [2]
        LPOS k c COUNT 0 MAXLEN 3 RANK -1 => [7 6]
        LPOS k c COUNT 0 MAXLEN 7 RANK 2 => [6]
        LPOS k c MAXLEN 2 => nil
        LPOS k c MAXLEN 0 => 2
        LPOS k c MAXLEN -1 => ERR MAXLEN can't be negative
        LPOS k c COUNT -1 => ERR COUNT can't be negative
        LPOS k c COUNT x => ERR COUNT can't be negative
        LPOS k c RANK x => ERR value is not an integer or out of range
        LPOS k c COUNT 1 RANK => ERR syntax error
        LPOS k c RANK 0 => ERR RANK can't be zero: use 1 to start from the first match, 2 from the second ... or use \
         negative to start from the end of the list
        LPOS k nothing COUNT 2 => []",
    );
}

#[test]
fn keys_of_other_types_are_refused() {
    let wrong = "WRONGTYPE Operation against a key holding the wrong kind of value";
    let refused = [
        "LPUSH k a",
        "RPUSH k a",
        "LPUSHX k a",
        "RPUSHX k a",
        "LPOP k",
        "RPOP k",
        "LPOP k 1",
        "RPOP k 0",
        "LLEN k",
        "LINDEX k 0",
        "LINDEX k x",
        "LRANGE k 0 -1",
        "LSET k 0 a",
        "LSET k x a",
        "LINSERT k BEFORE a b",
        "LREM k 0 a",
        "LTRIM k 0 1",
        "LPOS k a",
    ];
    let mut script = "HSET k f v => 1\n".to_string();
    refused.iter().for_each(|command| script += &format!("{command} => {wrong}\n"));
    script += "LPOP k x => ERR value is out of range, must be positive\n";
    script += "LRANGE k x 1 => ERR value is not an integer or out of range\n";
    script += "LINSERT k BESIDE a b => ERR syntax error\n";
    script += "DEL k => 1\nRPUSH k a => 1\nHGET k f => WRONGTYPE Operation against a key holding the wrong kind of value";
    play(&script);
}

#[test]
fn an_emptied_list_forgets_its_deadline() {
    play(
        "RPUSH k a b => 2
        PEXPIREAT k 9000000000000 => 1
        PEXPIRETIME k => 9000000000000
        LPOP k => 'a'
        LSET k 0 c => OK
        PEXPIRETIME k => 9000000000000
        RPOP k => 'c'
        PEXPIRETIME k => -2
        RPUSH k a b => 2
        PEXPIRETIME k => -1
        PEXPIREAT k 9000000000000 => 1
        LTRIM k 1 0 => OK
        LPUSH k a => 1
        PEXPIRETIME k => -1",
    );
}
