namespace rs consts

include "money.thrift"

enum Level { LOW = 1, MIDDLE = 50, HIGH = 100 }

struct Point { 1: i32 x, 2: i32 y = 7, 3: optional string label }
struct Line { 1: required Point from, 2: required Point to, 3: list<Point> between, 4: Level level = Level.LOW }
union Choice { 1: i32 number, 2: string text, 3: Point point }

const bool YES = true
const bool NO = 0
const i8 SMALL = -128
const byte OLD_BYTE = 127
const i16 SHORT = 0x7FFF
const i32 MINIMUM = -2147483648
const i32 HEX = 0xff
const i64 LARGEST = 9223372036854775807
const i64 SMALLEST = -9223372036854775808
const double PI = 3.141592653589793
const double TINY = 1e-300
const double WHOLE = 5
const double NEGATIVE = -0.0
const string EMPTY = ""
const string QUOTED = 'a "quoted" \'text\''
const string ESCAPED = "tab\there, line\nbreak, backslash \\ and é"
const binary MAGIC = "BRZ1"
const uuid NAMESPACE = "6ba7b810-9dad-11d1-80b4-00c04fd430c8"
const Level DEFAULT_LEVEL = Level.MIDDLE
const Level BY_NUMBER = 100
const i32 FROM_ENUM = Level.HIGH
const i32 COPY = HEX
const money.Currency CURRENCY = money.Currency.EUR
const list<string> WORDS = ["a", 'b', "a rather long word that makes the list long", "and another one of these words"]
const list<i32> PRIMES = [2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41, 43, 47, 53, 59, 61, 67, 71, 73, 79, 83, 89, 97]
const list<list<i16>> MATRIX = [[1, 0], [0, 1]]
const list<i32> NONE_AT_ALL = []
const set<string> COLOURS = ["red", "green"]
const set<Level> LEVELS = [Level.LOW, Level.HIGH]
const map<string, i32> AGES = {"ann": 30, "bob": 31}
const map<Level, list<string>> NAMES = {Level.LOW: ["low", "l"], Level.HIGH: ["high"]}
const map<i32, map<string, double>> NESTED = {1: {"one": 1.0}, 2: {}}
const Point ORIGIN = {"x": 0, "y": 0, "label": "origin"}
const Line AXIS = {"from": {"x": -1}, "to": {"x": 1, "y": 1}, "between": [{"x": 0, "label": EMPTY}]}
const list<Point> CORNERS = [{"x": 0}, {"x": 1, "y": 1}]
const map<string, Point> NAMED_POINTS = {"origin": ORIGIN}
const Choice CHOICE = {"text": "chosen"}
const money.Amount FREE = money.NOTHING
