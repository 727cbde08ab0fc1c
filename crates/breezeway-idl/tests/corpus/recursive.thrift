namespace rs recursive

struct Node { 1: i32 value, 2: optional Node next }

struct Tree { 1: i32 value, 2: optional Tree left, 3: optional Tree right, 4: list<Tree> others }

/** Neither required nor optional, and yet recursive. */
struct Chain { 1: string name, 2: Chain next }

struct Person { 1: required string name, 2: optional Company employer, 3: list<Person> friends }
struct Company { 1: required string name, 2: optional Person head, 3: map<string, Person> staff }

union Expression {
    1: i64 literal
    2: string variable
    3: Binary binary
    4: list<Expression> call
    5: Expression negated
}

struct Binary {
    1: required Operator operator
    2: required Expression left
    3: required Expression right
}

enum Operator { ADD, SUBTRACT, MULTIPLY, DIVIDE }

exception Caused { 1: string message, 2: optional Caused cause }

struct A { 1: optional B b }
struct B { 1: optional C c }
struct C { 1: optional A a, 2: set<A> all }

service Evaluator { double evaluate(1: Expression expression) throws (1: Caused caused) }
