//! A service that the tests serve twice: by owned values, and in place.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use breezeway_rpc::thrift::ExceptionKind;
use breezeway_rpc::{BusinessError, Context, Error, Written};

include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/golden/shelf.rs"));
pub(crate) use shelf::*;

/// Requested titles, and events seen by the handlers.
#[derive(Clone, Default)]
pub(crate) struct Log(Arc<Mutex<Vec<String>>>);

impl Log {
    fn push(&self, line: impl Into<String>) {
        self.0.lock().unwrap().push(line.into());
    }

    fn len(&self) -> i64 {
        self.0.lock().unwrap().len() as i64
    }

    fn clear(&self) {
        self.0.lock().unwrap().clear();
    }

    pub(crate) fn lines(&self) -> Vec<String> {
        self.0.lock().unwrap().clone()
    }
}

/// Returns an error that is not an exception of the IDL, by the requested title.
fn refusal(title: &str) -> Result<(), Error> {
    match title {
        "torn" => Err(Error::new(ExceptionKind::INTERNAL_ERROR, "torn")),
        "odd" => Err(Error::new(ExceptionKind(77), "odd")),
        "banned" => Err(BusinessError::new(451, "banned").into()),
        "panic" => panic!("on purpose"),
        _ => Ok(()),
    }
}

fn is_there(title: &str) -> bool {
    !title.len().is_multiple_of(3)
}

fn repeats(times: i32) -> usize {
    usize::try_from(times).unwrap_or_default().min(100)
}

/// Serves owned values.
pub(crate) struct Owned(pub(crate) Log);

impl Shelf for Owned {
    fn count(&self, _: &Context) -> Result<i64, Error> {
        Ok(self.0.len())
    }

    fn clear(&self, _: &Context) -> Result<(), Error> {
        self.0.clear();
        Ok(())
    }

    fn remove(&self, _: &Context, title: String) -> Result<(), ShelfRemoveError> {
        refusal(&title)?;
        if !is_there(&title) {
            return Err(NoSuchBook { title }.into());
        }
        self.0.push(title);
        Ok(())
    }

    fn seen(&self, _: &Context, title: String) {
        self.0.push(title);
    }
}

impl Library for Owned {
    fn find(&self, cx: &Context, title: String) -> Result<Book, LibraryFindError> {
        refusal(&title)?;
        self.0.push(format!("{title} {:?}", cx.deadline().is_some()));
        if !is_there(&title) {
            return Err(NoSuchBook { title }.into());
        }
        let loans = (0..title.len() as i64).collect();
        Ok(Book { number: title.len() as i64, title, loans, ..Book::default() })
    }

    fn echo(&self, _: &Context, books: Vec<Book>) -> Result<Vec<Book>, Error> {
        Ok(books)
    }

    fn total(&self, _: &Context, books: Vec<Book>) -> Result<i64, Error> {
        let loans = books.iter().flat_map(|book| &book.loans);
        Ok(loans.fold(0, |sum, loan| sum.wrapping_add(*loan)))
    }

    fn shout(&self, _: &Context, words: String, times: i32) -> Result<String, Error> {
        Ok(words.repeat(repeats(times)))
    }

    fn numbers(&self, _: &Context, books: Vec<Book>) -> Result<BTreeMap<String, i64>, Error> {
        Ok(books.into_iter().map(|book| (book.title, book.number)).collect())
    }
}

/// Serves the same by views.
pub(crate) struct Seen(pub(crate) Log);

impl InPlaceShelf for Seen {
    fn count(&self, _: &Context, reply: ShelfCountReplySpace<'_>) -> Result<Written, Error> {
        reply.write(|to| to.success(self.0.len()))
    }

    fn clear(&self, _: &Context) -> Result<(), Error> {
        self.0.clear();
        Ok(())
    }

    fn remove(&self, _: &Context, asked: ShelfRemoveArgsView<'_>) -> Result<(), ShelfRemoveError> {
        refusal(asked.title)?;
        if !is_there(asked.title) {
            return Err(NoSuchBook { title: asked.title.to_owned() }.into());
        }
        self.0.push(asked.title);
        Ok(())
    }

    fn seen(&self, _: &Context, asked: ShelfSeenArgsView<'_>) {
        self.0.push(asked.title);
    }
}

impl InPlaceLibrary for Seen {
    fn find(
        &self,
        cx: &Context,
        LibraryFindArgsView { title }: LibraryFindArgsView<'_>,
        reply: LibraryFindReplySpace<'_>,
    ) -> Result<Written, LibraryFindError> {
        refusal(title)?;
        self.0.push(format!("{title} {:?}", cx.deadline().is_some()));
        if !is_there(title) {
            return reply.write(|to| to.missing(|missing| missing.title(title)));
        }
        let number = title.len() as i64;
        reply.write(|to| {
            to.success(|book| {
                let book = book.title(title).number(number).price(0.0).lent(false);
                book.loans((0..title.len() as i32).map(i64::from))
            })
        })
    }

    fn echo(
        &self,
        _: &Context,
        asked: LibraryEchoArgsView<'_>,
        reply: LibraryEchoReplySpace<'_>,
    ) -> Result<Written, Error> {
        reply.write(|to| {
            to.success(asked.books, |to, book| {
                let to = to.title(book.title).number(book.number).price(book.price);
                let to = to.lent(book.lent).loans(book.loans);
                match book.cover {
                    Some(cover) => to.cover(cover),
                    None => to,
                }
            })
        })
    }

    fn total(
        &self,
        _: &Context,
        asked: LibraryTotalArgsView<'_>,
        reply: LibraryTotalReplySpace<'_>,
    ) -> Result<Written, Error> {
        let sums = asked.books.iter().map(|book| book.loans.sum());
        let total = sums.fold(0, |sum: i64, loans| sum.wrapping_add(loans));
        reply.view(LibraryTotalReplyView::Success(total))
    }

    fn shout(
        &self,
        _: &Context,
        LibraryShoutArgsView { words, times }: LibraryShoutArgsView<'_>,
        reply: LibraryShoutReplySpace<'_>,
    ) -> Result<Written, Error> {
        let length = words.len() * repeats(times);
        reply.write(|to| {
            to.success_in_place(length, |bytes| {
                for piece in bytes.chunks_exact_mut(words.len().max(1)) {
                    piece.copy_from_slice(words.as_bytes());
                }
            })
        })
    }

    fn numbers(
        &self,
        _: &Context,
        asked: LibraryNumbersArgsView<'_>,
        reply: LibraryNumbersReplySpace<'_>,
    ) -> Result<Written, Error> {
        let books = asked.books.iter();
        let numbers = books.map(|book| (book.title.to_owned(), book.number)).collect();
        reply.write(|to| to.success(&numbers))
    }
}
