namespace rs typedefs

include "common.thrift"

typedef i32 Id
typedef Id UserIdentifier
typedef UserIdentifier OwnerIdentifier
typedef list<Id> Ids
typedef map<OwnerIdentifier, Ids> Owners
typedef Owners Registry
typedef string Name
typedef binary Blob
typedef Shade Hue
typedef Hue Tint
typedef Thing Gadget
typedef Gadget Widget
typedef set<Widget> Widgets
typedef common.Timestamp Moment
typedef common.Page Window
typedef uuid Key
typedef bool Flag (js.type = "Boolean")
typedef double Ratio

enum Shade { LIGHT = 1, DARK = 2 }
struct Thing { 1: Id id, 2: Name name, 3: Tint tint = Tint.DARK }

struct Everything {
    1: required OwnerIdentifier owner = 7
    2: optional Ids ids
    3: Registry registry
    4: Widget widget
    5: Widgets widgets
    6: Moment moment
    7: Window window
    8: Key key
    9: Blob blob
    10: Flag flag
    11: optional Ratio ratio
    12: list<Moment> moments
    13: map<Key, list<Window>> windows
}

const OwnerIdentifier NOBODY = -1
const Ids FIRST = [1, 2, 3]

service Typedefs {
    Registry registry(1: OwnerIdentifier owner)
    Moment now()
}
