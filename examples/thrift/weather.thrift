namespace rs weather

/** What one station measured. */
struct Reading {
  1: required string station,
  2: i64 unix_seconds,
  3: list<double> celsius,
}

/** What is known of a station after a reading. */
struct Summary {
  1: required string station,
  2: double mean_celsius,
}
