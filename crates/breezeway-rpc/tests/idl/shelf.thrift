namespace rs shelf

struct Book {
    1: required string title
    2: required i64 number
    3: double price
    4: bool lent
    5: list<i64> loans
    6: optional binary cover
}

exception NoSuchBook {
    1: required string title
}

service Shelf {
    /// How many there are.
    i64 count()
    void clear()
    void remove(1: string title) throws (1: NoSuchBook missing)
    oneway void seen(1: string title)
}

service Library extends Shelf {
    Book find(1: string title) throws (1: NoSuchBook missing)
    list<Book> echo(1: list<Book> books)
    i64 total(1: list<Book> books)
    string shout(1: string words, 2: i32 times)
    map<string, i64> numbers(1: list<Book> books)
}
