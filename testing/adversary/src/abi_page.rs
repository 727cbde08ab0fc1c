//! The tables of `docs/abi.md`, for tests that compare the code with the page.

/// The page.
pub const PAGE: &str = include_str!("../../../docs/abi.md");

/// Returns the cells of a table's rows, without its heading.
///
/// # Panics
///
/// If the page has no such table, or the table has no rows.
#[must_use]
pub fn table(name: &str) -> Vec<Vec<&'static str>> {
    let begin = format!("<!-- table: {name} -->");
    let (_, rest) = PAGE.split_once(&begin).unwrap_or_else(|| panic!("no table {name}"));
    let (table, _) = rest.split_once("<!-- end -->").expect("the table ends");
    let cells = |row: &'static str| row.trim_matches('|').split('|').map(str::trim).collect();
    let rows: Vec<Vec<_>> =
        table.lines().filter(|line| line.starts_with('|')).skip(2).map(cells).collect();
    assert!(!rows.is_empty(), "table {name} is empty");
    rows
}

/// Parses a number as the page writes it: `4096` or `0x1000`.
///
/// # Panics
///
/// If the cell is not a number.
#[must_use]
pub fn number(cell: &str) -> usize {
    let parsed = match cell.strip_prefix("0x") {
        Some(digits) => usize::from_str_radix(digits, 16),
        None => cell.parse(),
    };
    parsed.unwrap_or_else(|_| panic!("{cell:?} is not a number"))
}

/// Returns the name at the beginning of a cell, which ends at `:`, `(`, `,` or a code span.
#[must_use]
pub fn name(cell: &str) -> &str {
    cell.split([':', '(', '`', ',']).next().unwrap_or_default().trim()
}

/// Returns the bytes of a cell's first code span, such as `42 52 5a`.
///
/// # Panics
///
/// If the cell has no code span, or one that is not bytes in hexadecimal digits.
#[must_use]
pub fn bytes(cell: &str) -> Vec<u8> {
    let span = cell.split('`').nth(1).expect("a code span");
    span.split(' ').map(|byte| u8::from_str_radix(byte, 16).expect("a byte")).collect()
}
