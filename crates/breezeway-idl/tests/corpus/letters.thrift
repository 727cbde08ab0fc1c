// Types that are called like the parameters of generic code, and lists of them in writers.

enum S { A }
struct I { 1: S s, 2: list<S> many }
struct W { 1: I i, 2: list<I> list, 3: map<S, I> map, 4: list<W> nested, 5: set<S> set }
const S SS = S.A
struct E { 1: W w, 2: list<W> many, 3: list<list<I>> lists, 4: string A }
union T { 1: S s, 2: list<I> list, 3: W w }
service F { W call(1: S s, 2: list<I> list) }
