// What `breezeway serve --protocol thrift` serves.
service Echo {
    // Returns its argument.
    binary echo(1: binary body)
}
