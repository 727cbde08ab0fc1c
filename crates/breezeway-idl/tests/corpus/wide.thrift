/** As many optional fields as tables have columns. */
struct Wide {
    1: optional i32 f1 2: optional i32 f2 3: optional i32 f3 4: optional i32 f4 5: optional i32
    f5 6: optional i32 f6 7: optional i32 f7 8: optional i32 f8 9: optional i32 f9 10: optional
    i32 f10 11: optional i32 f11 12: optional i32 f12 13: optional i32 f13 14: optional i32 f14
    15: optional i32 f15 16: optional i32 f16 17: optional i32 f17 18: optional i32 f18 19:
    optional i32 f19 20: optional i32 f20 21: optional i32 f21 22: optional i32 f22 23: optional
    i32 f23 24: optional i32 f24 25: optional i32 f25 26: optional i32 f26 27: optional i32 f27
    28: optional i32 f28 29: optional i32 f29 30: optional i32 f30 31: optional i32 f31 32:
    optional i32 f32 33: optional i32 f33 34: optional i32 f34 35: optional i32 f35 36: optional
    i32 f36 37: optional i32 f37 38: optional i32 f38 39: optional i32 f39 40: optional i32 f40
    41: optional i32 f41 42: optional i32 f42 43: optional i32 f43 44: optional i32 f44 45:
    optional i32 f45 46: optional i32 f46 47: optional i32 f47 48: optional i32 f48 49: optional
    i32 f49 50: optional i32 f50 51: optional i32 f51 52: optional i32 f52 53: optional i32 f53
    54: optional i32 f54 55: optional i32 f55 56: optional i32 f56 57: optional i32 f57 58:
    optional i32 f58 59: optional i32 f59 60: optional i32 f60 61: optional i32 f61 62: optional
    i32 f62 63: optional i32 f63 64: optional i32 f64 65: optional i32 f65 66: optional i32 f66
    67: optional i32 f67 68: optional i32 f68 69: optional i32 f69 70: optional i32 f70 71:
    optional i32 f71 72: optional i32 f72 73: optional i32 f73 74: optional i32 f74 75: optional
    i32 f75 76: optional i32 f76 77: optional i32 f77 78: optional i32 f78 79: optional i32 f79
    80: optional i32 f80 81: optional i32 f81 82: optional i32 f82 83: optional i32 f83 84:
    optional i32 f84 85: optional i32 f85 86: optional i32 f86 87: optional i32 f87 88: optional
    i32 f88 89: optional i32 f89 90: optional i32 f90 91: optional i32 f91 92: optional i32 f92
    93: optional i32 f93 94: optional i32 f94 95: optional i32 f95 96: optional i32 f96 97:
    optional i32 f97 98: optional i32 f98 99: optional i32 f99 100: optional i32 f100
}

struct Wides { 1: list<Wide> wides }
