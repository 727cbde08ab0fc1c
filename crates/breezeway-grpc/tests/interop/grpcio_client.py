"""Calls of Google's client for Python at the socket file given as the first argument."""

import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import grpc

SERVICE = "/grpc.testing.TestService/"
SECONDS = 30


def varint(number):
    out = b""
    while number > 0x7F:
        out += bytes([number & 0x7F | 0x80])
        number >>= 7
    return out + bytes([number])


def simple(response_size, payload):
    """SimpleRequest: response_size, and a payload of that many bytes."""
    body = b"\x12" + varint(payload) + bytes(payload)
    return b"\x10" + varint(response_size) + b"\x1a" + varint(len(body)) + body


def duplex(size):
    """StreamingOutputCallRequest: one response of a size."""
    asked = b"\x08" + varint(size)
    return b"\x12" + varint(len(asked)) + asked


def code_of(call):
    try:
        call()
    except grpc.RpcError as error:
        return error.code()
    return grpc.StatusCode.OK


def try_calls(target, options):
    with grpc.insecure_channel(target, options=options) as channel:
        empty = channel.unary_unary(SERVICE + "EmptyCall")
        unary = channel.unary_unary(SERVICE + "UnaryCall")
        stream = channel.stream_stream(SERVICE + "FullDuplexCall")
        missing = channel.unary_unary(SERVICE + "Missing")
        for number in range(100):
            metadata = [("x-number", str(number)), ("x-long-%d" % (number % 50), "v" * 200)]
            assert empty(b"", timeout=SECONDS, metadata=metadata) == b""
        for size in [1, 100, 70_000, 3_000_000]:
            assert len(unary(simple(size, size), timeout=SECONDS)) > size
        answers = stream(iter([duplex(9)] * 20), timeout=SECONDS)
        assert [len(answer) for answer in answers] == [13] * 20
        assert code_of(lambda: missing(b"", timeout=SECONDS)) == grpc.StatusCode.UNIMPLEMENTED
        never = threading.Event()

        def waiting():
            never.wait()
            yield b""

        late = code_of(lambda: list(stream(waiting(), timeout=0.2)))
        assert late == grpc.StatusCode.DEADLINE_EXCEEDED, late
        never.set()
        with ThreadPoolExecutor(16) as pool:
            calls = [pool.submit(empty, b"", timeout=SECONDS) for _ in range(200)]
            assert all(call.result() == b"" for call in calls)


path = sys.argv[1]
for target in ["unix:" + path, "unix://" + path]:
    for options in [[], [("grpc.default_authority", "a path/that is no host")]]:
        try_calls(target, options)
print("all calls were answered")
