//! The tables of `docs/abi.md`.

pub(crate) const PAGE: &str = include_str!("../../../../docs/abi.md");

/// The cells of a table's rows, without its heading.
pub(crate) fn table(name: &str) -> Vec<Vec<String>> {
    let begin = format!("<!-- table: {name} -->");
    let (_, rest) = PAGE.split_once(&begin).unwrap_or_else(|| panic!("no table {name}"));
    let (table, _) = rest.split_once("<!-- end -->").expect("the table ends");
    let rows: Vec<Vec<String>> = table
        .lines()
        .filter(|line| line.starts_with('|'))
        .skip(2)
        .map(|line| line.trim_matches('|').split('|').map(|cell| cell.trim().to_owned()).collect())
        .collect();
    assert!(!rows.is_empty(), "table {name} is empty");
    rows
}

/// A number as the page writes it: `4096` or `0x1000`.
pub(crate) fn number(cell: &str) -> usize {
    let parsed = match cell.strip_prefix("0x") {
        Some(digits) => usize::from_str_radix(digits, 16),
        None => cell.parse(),
    };
    parsed.unwrap_or_else(|_| panic!("{cell:?} is not a number"))
}

/// The name at the beginning of a cell: what stands before `:`, `(` or a code span.
pub(crate) fn name(cell: &str) -> &str {
    cell.split([':', '(', '`', ',']).next().unwrap_or_default().trim()
}

/// The bytes of a cell's first code span: `42 52 5a`.
pub(crate) fn bytes(cell: &str) -> Vec<u8> {
    let span = cell.split('`').nth(1).expect("a code span");
    span.split(' ').map(|byte| u8::from_str_radix(byte, 16).expect("a byte")).collect()
}
