/** Unions wherever a value can stand. */
union Choice { 1: i32 number, 2: string text, 3: Choice other }

struct Plain { 1: Choice choice, 2: i32 after }
struct Optional { 1: optional Choice choice, 2: i32 after }
struct Required { 1: required Choice choice, 2: i32 after }
struct Many { 1: list<Choice> choices, 2: map<string, Choice> named, 3: set<Choice> set_of }

exception Refused { 1: string message }
service Choices { void choose(1: Choice choice) throws (1: Refused refused) }
