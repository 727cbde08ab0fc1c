//! Layout of Go text as gofmt writes it.

/// Text being written.
#[derive(Debug, Default)]
pub(crate) struct Text {
    text: String,
    indent: usize,
}

impl Text {
    /// Returns the whole text.
    pub(crate) fn finish(self) -> String {
        self.text
    }

    /// Appends a line.
    pub(crate) fn line(&mut self, line: &str) {
        if !line.is_empty() {
            self.text.extend(std::iter::repeat_n('\t', self.indent));
            self.text.push_str(line);
        }
        self.text.push('\n');
    }

    /// Appends an empty line.
    pub(crate) fn blank(&mut self) {
        self.text.push('\n');
    }

    /// Appends a line that opens a block, its body, and `}`.
    pub(crate) fn block(&mut self, head: &str, body: impl FnOnce(&mut Self)) {
        self.line(head);
        self.indented(body);
        self.line("}");
    }

    /// Appends lines one level deeper.
    pub(crate) fn indented(&mut self, body: impl FnOnce(&mut Self)) {
        self.indent += 1;
        body(self);
        self.indent -= 1;
    }

    /// Appends other text, which begins at the margin.
    pub(crate) fn append(&mut self, other: Self) {
        self.text.push_str(&other.text);
    }

    /// Appends rows of columns, each behind its comment, as gofmt aligns them: a comment ends the
    /// rows that are aligned together.
    pub(crate) fn rows(&mut self, rows: &[(Vec<String>, Vec<String>)]) {
        let mut at = 0;
        while at < rows.len() {
            let together = rows[at + 1..].iter().take_while(|(docs, _)| docs.is_empty()).count();
            let run = &rows[at..=at + together];
            self.docs(&run[0].0);
            let columns = run[0].1.len();
            let width = |column: usize| {
                run.iter().map(|(_, row)| row[column].chars().count()).max().unwrap_or(0)
            };
            let widths: Vec<usize> = (0..columns).map(width).collect();
            for (_, row) in run {
                let cells = row.iter().zip(&widths).map(|(cell, &width)| format!("{cell:width$}"));
                self.line(cells.collect::<Vec<_>>().join(" ").trim_end());
            }
            at += together + 1;
        }
    }

    /// Appends a comment.
    pub(crate) fn docs(&mut self, lines: &[String]) {
        for line in lines {
            self.line(format!("// {line}").trim_end());
        }
    }
}
