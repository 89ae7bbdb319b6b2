//! Pictures, read as a browser reads them.

/// An element: its name, and its attributes with their values.
pub(crate) type Element = (String, Vec<(String, String)>);

/// Where something stands.
pub(crate) type Point = (f64, f64);

/// The elements of a document; checks that it is one.
pub(crate) fn well_formed(document: &str) -> Vec<Element> {
    let (mut open, mut elements) = (Vec::new(), Vec::new());
    let mut rest = document;
    while let Some(start) = rest.find('<') {
        let text = &rest[..start];
        assert!(!text.contains('>') && !text.contains('\u{1}'), "{text}");
        for entity in text.split('&').skip(1) {
            let known = ["amp;", "lt;", "gt;", "quot;", "apos;"];
            assert!(known.iter().any(|k| entity.starts_with(k)), "{entity}");
        }
        let end = rest[start..].find('>').expect("an element ends") + start;
        let inside = &rest[start + 1..end];
        rest = &rest[end + 1..];
        if let Some(name) = inside.strip_prefix('/') {
            assert_eq!(open.pop().as_deref(), Some(name));
            continue;
        }
        let empty = inside.ends_with('/');
        let inside = inside.trim_end_matches('/');
        let (name, attributes) = inside.split_once(' ').unwrap_or((inside, ""));
        let mut parts = attributes.split('"');
        let mut found = Vec::new();
        while let (Some(key), Some(value)) = (parts.next(), parts.next()) {
            found.push((key.trim().trim_end_matches('=').to_string(), value.to_string()));
        }
        elements.push((name.to_string(), found));
        if !empty {
            open.push(name.to_string());
        }
    }
    assert!(open.is_empty() && rest.trim().is_empty(), "{open:?} {rest:?}");
    elements
}

/// The value of an attribute.
pub(crate) fn attribute<'a>(attributes: &'a [(String, String)], name: &str) -> Option<&'a str> {
    attributes.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
}

/// The value of an attribute that is a number.
pub(crate) fn number(attributes: &[(String, String)], name: &str) -> f64 {
    attribute(attributes, name).unwrap_or_else(|| panic!("{name} in {attributes:?}")).parse().unwrap()
}

/// The places that a path's data tells of, in order.
pub(crate) fn places(data: &str) -> Vec<Point> {
    let words: Vec<&str> = data.split(' ').collect();
    let number = |word: &str| word.trim_start_matches(char::is_alphabetic).parse().expect("a number");
    words.chunks_exact(2).map(|pair| (number(pair[0]), number(pair[1]))).collect()
}

/// The points of a path whose corners are rounded.
pub(crate) fn corners(data: &str) -> Vec<Point> {
    let places = places(data);
    let (first, last) = (places[0], places[places.len() - 1]);
    // An arc begins on the line before its corner, and ends on the line behind it.
    let arcs = places[1..places.len() - 1].chunks_exact(3);
    assert!(arcs.remainder().is_empty(), "{data}");
    [first].into_iter().chain(arcs.map(|arc| arc[1])).chain([last]).collect()
}
