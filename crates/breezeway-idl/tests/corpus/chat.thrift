namespace rs chat

typedef uuid RoomId
typedef uuid MessageId

enum Presence { OFFLINE, ONLINE, AWAY, BUSY }

union Content {
    1: string text
    2: binary image
    3: Reaction reaction
    4: Deleted deleted
}

struct Reaction { 1: required MessageId to, 2: required string emoji }
struct Deleted {}

struct Message {
    1: required MessageId id
    2: required RoomId room
    3: required string from
    4: required Content content
    5: i64 sent_at
    6: optional MessageId in_reply_to
    7: set<string> mentions
}

struct Room {
    1: required RoomId id
    2: string topic = "no topic yet"
    3: map<string, Presence> members
}

exception NotInRoom { 1: RoomId room, 2: string user }

service Chat {
    Room join(1: RoomId room, 2: string user)
    MessageId send(1: Message message) throws (1: NotInRoom not_in_room)
    list<Message> since(1: RoomId room, 2: optional MessageId last) throws (1: NotInRoom not_in_room)
    /** Messages as they come. */
    Message subscribe(1: RoomId room) (streaming.mode = "server")
    Message talk(1: Message message) (streaming.mode = "bidirectional")
}
