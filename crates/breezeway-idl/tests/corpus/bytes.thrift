/** Strings of which nobody knows that they are UTF-8. */
typedef string Name

struct Raw {
    1: string text
    2: string raw (strings = "bytes")
    3: optional Name name = "x" (strings = "bytes")
    4: map<string, list<string>> table (strings = "bytes")
}
