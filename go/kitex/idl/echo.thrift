namespace go echo

// What the tests and the example of the module serve.
service Echo {
    binary Bounce(1: binary bytes)
    // Replies once its time is over, or 10 s are.
    void Wait()
}
