/* What Apache's compiler takes, as old files have it. */
namespace * apache
namespace /* of Go */ go apache.old
namespace js "a-package"
php_namespace 'Old'
cpp_include "<vector>"
include /* here */ "common.thrift";

typedef /* what it is */ i64 Stamp,

// No numbers: they are -1, -2 and so on.
struct Unnumbered {
    string first;
    required i32 second
    5: bool third,
    optional list<string> fourth
}

/** Numbers that are none. */
struct Nonpositive { 0: i32 zero, -7: i32 negative, 3: i32 three }

struct Commented {
    1: /* a */ required /* b */ i32 /* c */ value /* d */ = /* e */ 5 /* f */,
    2: map< /* key */ string, /* value */ list<i32 /* inner */>> table // g
    3: optional Commented & next
}

enum Flags { NONE /* no number */, ONE = 1 /* one */, UNO = 1 (deprecated), TWO = 2 (since = "2", deprecated) };

union Either { 1: i32 left = 3, 2: string right }

service Parent { void ping() throws () }
service Child /* of */ extends /* this */ Parent {
    i32 sum(i32 left, i32 right) // without numbers
    async void forget(1: string what);
} (final)

struct Needs { 1: required i32 number, 2: required list<string> names, 3: optional Needs more, 4: required Flags flag }
struct Holds { 1: Needs needs = {'number': 7}, 2: required Needs others }
const Needs NEEDS = {}
const Holds HOLDS = {'others': {'names': ['a']}}
struct Lenient { 1: Flags flag = Strict.TWO, 2: list<Needs> many = [{}, {'number': 1}] }
enum Strict { ONE }
