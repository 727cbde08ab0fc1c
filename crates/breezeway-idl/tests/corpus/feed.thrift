namespace rs feed

typedef i64 PostId
typedef list<PostId> Timeline
typedef map<string, list<Timeline>> Timelines

enum MediaKind { IMAGE = 1, VIDEO = 2, AUDIO = 3 }

struct Media {
    1: required MediaKind kind
    2: required string url
    3: optional i32 width
    4: optional i32 height
    5: optional double duration_seconds
    6: optional binary thumbnail
}

struct Comment {
    1: required i64 id
    2: required string text
    3: list<Comment> replies
    4: optional Comment quoted
    5: i32 likes
}

struct Post {
    1: required PostId id
    2: required string author
    3: required string text
    4: list<Media> media
    5: list<Comment> comments
    6: map<string, i32> reactions
    7: set<string> tags
    8: optional Post shared
    9: optional i64 edited_at
}

struct FeedRequest {
    1: required string user
    2: optional PostId after
    3: i32 limit = 50
    4: set<MediaKind> only
}

struct FeedResponse {
    1: list<Post> posts
    2: Timeline timeline
    3: Timelines pinned
    4: bool more
}

service Feed {
    FeedResponse load(1: FeedRequest request)
    Post publish(1: Post post)
    oneway void seen(1: string user, 2: Timeline posts)
}
