//! Prints how long breezeway-thrift and other codecs take for each shape, whether the targets are
//! met, and what each technique is worth.
//!
//! The one argument is the number of rounds (100).

use breezeway_thrift::Encode;
use thrift_peers::targets::Shape;
use thrift_peers::{contenders, effects, shapes, table, targets};

fn batch(count: usize, rounds: usize, shape: Shape) {
    let batch = shapes::batch(count);
    let size = batch.size();
    let rows = table::measure(size, rounds, contenders::batch(&batch));
    table::print(&format!("{count} small structs, {size} bytes"), &rows);
    targets::print(shape, &rows);
}

fn main() {
    let rounds = std::env::args().nth(1).and_then(|rounds| rounds.parse().ok()).unwrap_or(100);
    batch(1, rounds, Shape::One);
    batch(130, rounds, Shape::Small);
    let test = shapes::my_test(131_072);
    let rows = table::measure(test.size(), rounds, contenders::my_test(&test));
    table::print(&format!("MyTest, 131072 numbers, {} bytes", test.size()), &rows);
    targets::print(Shape::Numbers, &rows);
    batch(40_000, rounds / 4 + 1, Shape::Many);
    for shape in contenders::wide::all() {
        let rows = table::measure(shape.size, rounds, shape.cases);
        table::print(&format!("{}, {} bytes", shape.name, shape.size), &rows);
        targets::print(Shape::Wide, &rows);
    }
    table::print_effects(rounds, effects::all());
}
