// More structs inside each other than rustc lays out together: some are in boxes.

struct N0 { 1: N1 next }
struct N1 { 1: N2 next }
struct N2 { 1: N3 next }
struct N3 { 1: N4 next }
struct N4 { 1: N5 next }
struct N5 { 1: N6 next }
struct N6 { 1: N7 next }
struct N7 { 1: N8 next }
struct N8 { 1: N9 next }
struct N9 { 1: N10 next }
struct N10 { 1: N11 next }
struct N11 { 1: N12 next }
struct N12 { 1: N13 next }
struct N13 { 1: N14 next }
struct N14 { 1: N15 next }
struct N15 { 1: N16 next }
struct N16 { 1: N17 next }
struct N17 { 1: N18 next }
struct N18 { 1: N19 next }
struct N19 { 1: N20 next }
struct N20 { 1: N21 next }
struct N21 { 1: N22 next }
struct N22 { 1: N23 next }
struct N23 { 1: N24 next }
struct N24 { 1: N25 next }
struct N25 { 1: N26 next }
struct N26 { 1: N27 next }
struct N27 { 1: N28 next }
struct N28 { 1: N29 next }
struct N29 { 1: N30 next }
struct N30 { 1: N31 next }
struct N31 { 1: N32 next }
struct N32 { 1: N33 next }
struct N33 { 1: N34 next }
struct N34 { 1: N35 next }
struct N35 { 1: N36 next }
struct N36 { 1: N37 next }
struct N37 { 1: N38 next }
struct N38 { 1: N39 next }
struct N39 { 1: N40 next }
struct N40 { 1: N41 next }
struct N41 { 1: N42 next }
struct N42 { 1: N43 next }
struct N43 { 1: N44 next }
struct N44 { 1: N45 next }
struct N45 { 1: N46 next }
struct N46 { 1: N47 next }
struct N47 { 1: N48 next }
struct N48 { 1: N49 next }
struct N49 { 1: N50 next }
struct N50 { 1: N51 next }
struct N51 { 1: N52 next }
struct N52 { 1: N53 next }
struct N53 { 1: N54 next }
struct N54 { 1: N55 next }
struct N55 { 1: N56 next }
struct N56 { 1: N57 next }
struct N57 { 1: N58 next }
struct N58 { 1: N59 next }
struct N59 { 1: N60 next }
struct N60 { 1: string end, 2: i32 x = 5 }
const N57 PART = {'next': {'next': {'next': {'x': 7}}}}
struct Top { 1: required N0 all, 2: N11 some = {'next': {}}, 3: optional N5 most }
union Either { 1: N3 three, 2: N9 nine }
service Nest { N0 call(1: N0 whole) }
