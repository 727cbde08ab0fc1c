@0xb8f1a7c3d2e94f61;

struct Ano {
  a @0 :Int64;
}

struct MyTest {
  num @0 :Int64;
  ano @1 :Ano;
  nums @2 :List(Int64);
}

struct Mixed {
  flag @0 :Bool;
  count @1 :Int32;
  stamp @2 :Int64;
  ratio @3 :Float64;
  name @4 :Text;
  numbers @5 :List(Int64);
}

struct Batch {
  items @0 :List(Mixed);
}
