namespace rs users

exception NoSuchUser { 1: required string name }

struct Visit { 1: required string name }

service Users {
    // The age in years.
    i64 age(1: string name) throws (1: NoSuchUser missing)
    // Has no reply.
    oneway void seen(1: string name)
    // Visits, as they come.
    Visit watch(1: Visit since) (streaming.mode = "server")
}
