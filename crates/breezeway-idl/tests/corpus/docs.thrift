/**
 * Comments of every kind, some of which rustdoc would trip over.
 */

namespace rs docs

/**
 * Lists in comments:
 *  - one that goes on
 *    in the next line
 *  - two
 * and text behind.
 *
 *     indented like code();
 *
 * A link: https://example.com/a?b=c, a <tag>, an [index] and a `code` span.
 * Back\slash, "quotes", * stars * and _underscores_.
 */
struct Documented {
    // line comment
    // in two lines
    1: i32 a // and behind
    # shell style
    2: i32 b # behind too
    /* block */
    3: i32 c /* behind */
    /** doc */ 4: i32 d
    5: i32 e;   // behind a separator

    // apart from everything

    6: i32 f
    /**
     * 1. numbered
     * 2. numbered again
     * goes on
     */
    7: i32 g
}

// Not about the next one.

struct Bare { 1: i32 a }

/// Three slashes.
enum Slashes {
    A = 1, // the first
    // the second
    B = 2,
}

/** Speaks. */
service Speaker {
    /**
     * Says it.
     *
     * ```
     * say("hello")
     * ```
     */
    void say(1: string words /* what */) // loudly
    // Whispers [it] to <somebody>.
    oneway void whisper(1: string words)
}
