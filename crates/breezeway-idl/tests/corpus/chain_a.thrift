namespace rs chain.first.v1
typedef string Key
const Key KEY = "key"
enum Colour { RED = 1, GREEN = 2 }
struct First { 1: Key key }
exception Broken { 1: Key key }
service A { First first(1: Key key) throws (1: Broken broken) }
