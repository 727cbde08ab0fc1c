struct Five {
    1: i64 id
    2: i32 count
    3: double price
    4: bool open
    5: i64 changed
}

service Fives {
    Five echo(1: Five five)
    oneway void take(1: Five five)
}
