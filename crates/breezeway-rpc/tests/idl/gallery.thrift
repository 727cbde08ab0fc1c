namespace rs gallery

struct Picture {
    1: required string title
    2: required binary pixels
    3: optional list<binary> frames
    4: binary thumbnail = "none yet"
    5: map<string, binary> notes
}
exception NoSuchPicture { 1: string message }

service Gallery {
    Picture show(1: string title) throws (1: NoSuchPicture missing)
    void hang(1: Picture picture)
    binary develop(1: binary negative, 2: optional string title)
    // One picture for each that is given.
    Picture copy(1: Picture original) (streaming.mode = "bidirectional")
}
