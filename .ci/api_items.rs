---cargo
[package]
edition = "2024"

[dependencies]
public-api = { version = "=0.52.1", default-features = false }
rustdoc-types = "0.57"
---

//! Prints the public items of a crate, one a line, from its JSON by rustdoc. Without an argument,
//! prints the version of the format that it reads.

fn main() -> Result<(), public_api::Error> {
    let Some(json) = std::env::args().nth(1) else {
        println!("{}", rustdoc_types::FORMAT_VERSION);
        return Ok(());
    };
    let api = public_api::Builder::from_rustdoc_json(json)
        .omit_blanket_impls(true)
        .omit_auto_trait_impls(true)
        .build()?;
    for item in api.items() {
        println!("{item}");
    }
    Ok(())
}
