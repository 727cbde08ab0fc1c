namespace go lists

// A struct with each container and with itself, of which tests send hostile bytes.
struct Node {
    1: optional Node next
    2: optional list<string> names
    3: optional map<string,string> words
    4: optional list<Node> nodes
    5: optional set<string> marks
}

exception NoNode {
    1: string name
}

service Lists {
    void put(1: Node node) throws (1: NoNode missing)
}
