// A Laplace histogram for RefuteDP's command protocol, in Rust without crates.
//
//   rustc -O laplace.rs
//   refutedp check --command ./laplace --epsilon 0.5 --adjacency one-differs
//   refutedp check --command "./laplace --bug" --epsilon 0.5 --adjacency one-differs
//
// Requests are read with string searches, which is enough for data that is a list of numbers; a program that may use
// crates had better read them with serde_json.

use std::io::{self, BufRead, Write};

const BATCH: u64 = 100;

struct Random(u64);

impl Random {
    /// splitmix64, in (0, 1).
    fn uniform(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (((z ^ (z >> 31)) >> 11) as f64 + 0.5) / 9_007_199_254_740_992.0
    }

    fn laplace(&mut self, scale: f64) -> f64 {
        scale * (self.uniform().ln() - self.uniform().ln())
    }
}

/// The last digits of a float tell which numbers were added: round them away.
fn on_grid(value: f64) -> f64 {
    (value * 1024.0).round() / 1024.0
}

/// What follows `"key": ` in the request.
fn find<'a>(line: &'a str, key: &str) -> Option<&'a str> {
    let quoted = format!("\"{key}\": ");
    line.find(&quoted).map(|at| &line[at + quoted.len()..])
}

/// The number a text starts with, which may be {"$float": "nan"} or {"$int": "..."}.
fn number(text: &str) -> Option<f64> {
    let start = if text.starts_with('{') { text.split(": \"").nth(1)? } else { text };
    let end = start.find([',', '}', ']', '"', ' ']).unwrap_or(start.len());
    start[..end].parse().ok()
}

fn integer(text: &str) -> Option<u64> {
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    text[..end].parse().ok()
}

fn write_number(text: &mut String, value: f64) {
    if value.is_finite() {
        text.push_str(&format!("{value:?}"));
    } else {
        let name = if value.is_nan() { "nan" } else if value > 0.0 { "inf" } else { "-inf" };
        text.push_str(&format!("{{\"$float\": \"{name}\"}}"));
    }
}

fn answer(line: &str, bug: bool) -> Option<String> {
    let id = integer(find(line, "id")?)?;
    let list = find(line, "data")?.strip_prefix('[')?;
    let list = &list[..list.find(']')?];
    let data: Vec<f64> =
        if list.is_empty() { vec![] } else { list.split(", ").map(number).collect::<Option<_>>()? };
    let scale = (if bug { 0.5 } else { 1.0 }) / number(find(line, "epsilon")?)?; // the bug: half the noise
    let mut random = Random(integer(find(line, "seed")?)?);
    let count = integer(find(line, "count")?)?;
    let mut text = String::new();
    for run in 0..count {
        if run % BATCH == 0 {
            text.push_str(&format!("{}{{\"id\": {id}, \"outputs\": [[", if run > 0 { "]}\n" } else { "" }));
        } else {
            text.push_str(", [");
        }
        for (i, query) in data.iter().enumerate() {
            text.push_str(if i > 0 { ", " } else { "" });
            write_number(&mut text, on_grid(query + random.laplace(scale)));
        }
        text.push(']');
    }
    text.push_str(&format!("{}{{\"id\": {id}, \"done\": true}}\n", if count > 0 { "]}\n" } else { "" }));
    Some(text)
}

fn main() -> io::Result<()> {
    let bug = std::env::args().any(|word| word == "--bug");
    let mut answers = io::stdout().lock();
    for line in io::stdin().lock().lines() {
        let line = line?;
        let id = find(&line, "id").and_then(integer).unwrap_or(0);
        let refusal = || format!("{{\"id\": {id}, \"failure\": \"the request needs numeric data and epsilon\"}}\n");
        answers.write_all(answer(&line, bug).unwrap_or_else(refusal).as_bytes())?;
        answers.flush()?;
    }
    Ok(())
}
