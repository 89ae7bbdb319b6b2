//! The first line of a script.

use tidemark_script::Shebang;

#[test]
fn a_shebang_is_understood_or_refused_in_the_words_of_redis() {
    let (shebang, rest) = Shebang::of(b"#!lua flags=no-writes,allow-oom\nreturn 1").expect("it is fine");
    assert_eq!((shebang.no_writes, shebang.allow_oom, rest), (true, true, &b"\nreturn 1"[..]));
    let (shebang, rest) = Shebang::of(b"return 1").expect("there is none");
    assert_eq!((shebang.no_writes, rest), (false, &b"return 1"[..]));
    let refused = [
        ("#!lua", "Invalid script shebang"),
        ("#!luax\n", "Unexpected engine in script shebang: #!luax"),
        ("#!lua x=y\n", "Unknown lua shebang option: x=y"),
        ("#!lua flags=bad\n", "Unexpected flag in script shebang: bad"),
    ];
    for (source, why) in refused {
        assert_eq!(Shebang::of(source.as_bytes()), Err(why.to_string()));
    }
}
