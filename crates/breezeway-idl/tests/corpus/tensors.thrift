namespace rs ml.tensors

enum DType { FLOAT32 = 1, FLOAT64 = 2, INT8 = 3, INT32 = 4, INT64 = 5 }

struct Tensor {
    1: required string name
    2: required DType dtype
    3: required list<i64> shape
    4: optional list<double> doubles
    5: optional list<i32> ints
    6: optional list<i64> longs
    7: optional list<i16> shorts
    8: optional list<i8> bytes
    9: optional list<bool> bits
    10: optional binary raw
}

struct Model { 1: string name, 2: i32 version = 1, 3: map<string, string> labels }

struct PredictRequest { 1: required Model model, 2: list<Tensor> inputs, 3: set<string> outputs }
struct PredictResponse { 1: list<Tensor> outputs, 2: map<string, double> timings }

service Predictor {
    PredictResponse predict(1: PredictRequest request)
    PredictResponse predictStream(1: PredictRequest request) (streaming.mode = "client")
    Model describe(1: string name) (streaming.mode = "unary")
}
