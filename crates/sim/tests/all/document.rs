//! The document about writing a protocol shows the example as it is.

use std::fs::read_to_string;
use std::path::Path;

#[test]
fn the_blocks_of_the_document_are_the_example() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let document = read_to_string(root.join("../../docs/write-a-protocol.md")).expect("the document");
    let example = read_to_string(root.join("examples/roaming.rs")).expect("the example");
    let blocks = document.split("```rust\n").skip(1).filter_map(|rest| rest.split_once("\n```"));
    let shown: Vec<&str> =
        blocks.flat_map(|(block, _)| block.lines()).filter(|line| !line.is_empty()).collect();
    let lines: Vec<&str> = example.lines().filter(|line| !line.is_empty()).collect();
    for (number, (shown, line)) in (1..).zip(shown.iter().zip(&lines)) {
        assert_eq!(shown, line, "line {number} of the example, empty ones not counted");
    }
    assert_eq!(shown.len(), lines.len(), "one of them goes on where the other ends");
}
