//! Tests of components are run for each protocol that rests on the component.

/// Tests, and the protocols for which each is run.
macro_rules! of_each {
    ($($test:ident: $($protocol:ident)*;)*) => {$(
        mod $test {$(
            #[test]
            #[allow(non_snake_case)]
            fn $protocol() {
                super::$test::<tidemark_protocols::$protocol>();
            }
        )*}
    )*};
}

/// As [`of_each`], of tests that are each about a rule.
macro_rules! of_each_with_the_rule {
    ($($test:ident, $rule:ident: $($protocol:ident)*;)*) => {
        of_each! { $($test: $($protocol)*;)* }

        /// Which protocols are tested without which rule.
        const TESTED: &[(Rule, &[&str])] = &[$(($rule, &[$($protocol::INFO.name),*])),*];
    };
}
