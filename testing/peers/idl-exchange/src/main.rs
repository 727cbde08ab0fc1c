//! Random messages of every struct of some IDLs: ours, read in every way, must be the same to the
//! others, and theirs to ours. Prints `fault STEM: …` for the first message of an IDL that is not,
//! and ends with `messages COUNT`. Arguments name the IDLs; none stands for all.

mod exchange;
mod wire;

use breezeway_thrift::{IntoOwned, decode_once, decode_slice, encode_vec, to_vec, view_slice};
use exchange::{Case, Exchange, Other, ours};

macro_rules! case {
    ($stem:literal, $name:literal, $owned:ty, $view:ty, [$($other:ident: $kind:ident::<$type:ty>,)*]) => {
        Case {
            stem: $stem,
            name: $name,
            ours: ours!($owned, $view),
            others: &[$(Other { name: stringify!($other), through: exchange::$kind::<$type> },)*],
        }
    };
}

include!(env!("CASES"));

fn main() {
    let wanted: Vec<String> = std::env::args().skip(1).collect();
    let mut messages = 0;
    let mut cases = CASES
        .iter()
        .filter(|case| wanted.is_empty() || wanted.iter().any(|stem| stem == case.stem))
        .peekable();
    while let Some(first) = cases.peek().copied() {
        let mut exchange = Exchange::of(DIR, first.stem);
        let mut fault = None;
        while let Some(case) = cases.next_if(|case| case.stem == first.stem) {
            fault = fault.or_else(|| exchange.fault(case));
        }
        if let Some(fault) = fault {
            println!("fault {}: {}", first.stem, fault.replace('\n', " "));
        }
        messages += exchange.messages;
    }
    println!("messages {messages}");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_of_the_fixed_idls_are_the_same_to_all() {
        let mut messages = 0;
        for case in CASES {
            let mut exchange = Exchange::of(DIR, case.stem);
            assert_eq!(exchange.fault(case), None, "{}", case.stem);
            messages += exchange.messages;
        }
        assert!(messages > 100, "{messages}");
    }
}
