exception NoSuchUser { 1: required string name }

service Users {
    // How old somebody is, in years.
    i64 age(1: string name) throws (1: NoSuchUser missing)
    oneway void seen(1: string name)
}
