namespace rs annotations (api.version = "3")

struct Book {
    1: required i64 id (api.path = "id", go.tag = "json:\"id\" db:\"book_id\""),
    2: string title (api.body = "title", api.vd = "len($)>0"; pilota.rust_type = "string"),
    3: optional string isbn (deprecated = "use id"),
    4: list<string> (cpp.template = "std::vector") authors,
    5: map<string, string> cpp_type_like (a.b.c = 'single "quoted"'),
} (cpp.virtual = "true", java.final = "")

enum Shelf { TOP = 1 (label = "top shelf"), BOTTOM = 2 } (ui.order = "2")

typedef string Title (max_length = "80")

exception Missing { 1: string what } (message = "what")

union Either { 1: i32 left (side = "l"), 2: i32 right (side = "r") } (sealed = "yes")

service Library {
    Book find(1: i64 id (api.path = "id")) (api.get = "/books/:id", api.param = "true"),
    void add(1: Book book) throws (1: Missing missing (http.status = "404")) (api.post = "/books"),
} (api.base_path = "/v1")
