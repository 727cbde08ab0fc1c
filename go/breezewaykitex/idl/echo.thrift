namespace go echo

// The service of tests and the example of this module, of which Breezeway's command serves and
// calls the first method.
service Echo {
    binary echo(1: binary body)
    // Replies once its time is over, or 10 s are.
    void wait()
}
