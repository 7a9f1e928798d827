//! A tiny ONNX model with its tokenizer: the vector of a text is the mean of its words' vectors.
//! Words of one group are synonyms, so they have the same vector; all other words have another.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

/// Synonyms.
pub const GROUPS: [[&str; 2]; 3] =
    [["kestrel", "falcon"], ["invoice", "bill"], ["retry", "attempt"]];
/// Dimensions of a vector.
pub const DIMENSIONS: usize = 8;
/// Weight of a word of no group.
pub const OTHER: f32 = 0.01;

/// Files of a model's directory.
pub type Files = Vec<(&'static str, Vec<u8>)>;

/// Returns the files with the weights in the graph.
pub fn files() -> Files {
    let weights = Message::default().bytes(9, &weights());
    let mut files = tokenizer();
    files.push(("model.onnx", graph(weights)));
    files
}

/// Writes the files into a directory.
pub fn write(dir: &Path) {
    fs::create_dir_all(dir).expect("a directory");
    for (name, content) in files() {
        fs::write(dir.join(name), content).expect("a file");
    }
}

/// Returns the files of the tokenizer.
pub fn tokenizer() -> Files {
    let words = ["[PAD]", "[UNK]"].into_iter().chain(GROUPS.as_flattened().iter().copied());
    let vocabulary: serde_json::Map<String, Value> =
        words.enumerate().map(|(id, word)| (word.to_owned(), json!(id))).collect();
    let tokenizer = json!({
        "version": "1.0", "truncation": null, "padding": null, "added_tokens": [],
        "normalizer": {"type": "Lowercase"}, "pre_tokenizer": {"type": "Whitespace"},
        "post_processor": null, "decoder": null,
        "model": {"type": "WordLevel", "vocab": vocabulary, "unk_token": "[UNK]"}
    });
    let config = json!({"model_max_length": 512, "pad_token": "[PAD]"});
    let files = [
        ("tokenizer.json", tokenizer),
        ("config.json", json!({"pad_token_id": 0})),
        ("special_tokens_map.json", json!({})),
        ("tokenizer_config.json", config),
    ];
    files.map(|(name, content)| (name, content.to_string().into_bytes())).into()
}

/// The vectors of all tokens, in their order.
pub fn weights() -> Vec<u8> {
    let other = {
        let mut row = [0.0; DIMENSIONS];
        row[0] = OTHER;
        row
    };
    let mut rows = vec![other, other];
    for number in 0..GROUPS.len() {
        let mut row = [0.0; DIMENSIONS];
        row[number + 1] = 1.0;
        rows.extend([row, row]);
    }
    rows.as_flattened().iter().flat_map(|x: &f32| x.to_le_bytes()).collect()
}

/// Returns a model that looks up each token's row in the tensor `table`, which has these fields
/// besides its shape. The numbers are those of the fields in ONNX's Protocol Buffers.
pub fn graph(table: Message) -> Vec<u8> {
    const FLOAT: u64 = 1;
    const INT64: u64 = 7;
    let tokens = 2 + GROUPS.as_flattened().len() as u64;
    let table =
        table.number(1, tokens).number(1, DIMENSIONS as u64).number(2, FLOAT).bytes(8, b"table");
    let lookup = Message::default()
        .bytes(1, b"table")
        .bytes(1, b"input_ids")
        .bytes(2, b"last_hidden_state")
        .bytes(4, b"Gather");
    let batch = Message::default().bytes(2, b"batch");
    let length = Message::default().bytes(2, b"length");
    let width = Message::default().number(1, DIMENSIONS as u64);
    let value = |name: &str, kind: u64, dims: &[&Message]| {
        let shape = dims.iter().fold(Message::default(), |shape, dim| shape.message(1, dim));
        let tensor = Message::default().number(1, kind).message(2, &shape);
        let kind = Message::default().message(1, &tensor);
        Message::default().bytes(1, name.as_bytes()).message(2, &kind)
    };
    let graph = Message::default()
        .message(1, &lookup)
        .bytes(2, b"tiny")
        .message(5, &table)
        .message(11, &value("input_ids", INT64, &[&batch, &length]))
        .message(11, &value("attention_mask", INT64, &[&batch, &length]))
        .message(12, &value("last_hidden_state", FLOAT, &[&batch, &length, &width]));
    let operators = Message::default().bytes(1, b"").number(2, 17);
    Message::default().number(1, 8).message(7, &graph).message(8, &operators).0
}

/// A message of Protocol Buffers.
#[derive(Default)]
pub struct Message(Vec<u8>);

impl Message {
    pub fn number(mut self, field: u64, value: u64) -> Self {
        self.varint(field << 3);
        self.varint(value);
        self
    }

    pub fn bytes(mut self, field: u64, value: &[u8]) -> Self {
        self.varint(field << 3 | 2);
        self.varint(value.len() as u64);
        self.0.extend_from_slice(value);
        self
    }

    pub fn message(self, field: u64, value: &Self) -> Self {
        self.bytes(field, &value.0)
    }

    fn varint(&mut self, mut value: u64) {
        while value > 0x7f {
            self.0.push(value.to_le_bytes()[0] | 0x80);
            value >>= 7;
        }
        self.0.push(value.to_le_bytes()[0]);
    }
}
