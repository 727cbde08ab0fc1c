namespace rs users

exception NoSuchUser { 1: required string name }

service Users {
    // The age in years.
    i64 age(1: string name) throws (1: NoSuchUser missing)
}
