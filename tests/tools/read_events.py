#!/usr/bin/env python3
"""Reads an events file of TensorBoard without its help: prints "STEP TAG VALUE", a line each.

Checks the two checksums of every record, and that the file ends with one. Usage: read_events.py FILE
"""
import struct
import sys


def crc32c(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF


def masked(data):
    crc = crc32c(data)
    return ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF


def records(data):
    while data:
        length, checksum = struct.unpack_from("<QI", data)
        assert checksum == masked(data[:8]), "checksum of a length"
        body = data[12:12 + length]
        (checksum,) = struct.unpack_from("<I", data, 12 + length)
        assert checksum == masked(body), "checksum of a record"
        yield body
        data = data[16 + length:]


def varint(data):
    value = shift = 0
    for index, byte in enumerate(data):
        value |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            return value, data[index + 1:]
    raise ValueError("a number is cut off")


def fields(message):
    """(field, value) of a protobuf message; texts and messages as bytes."""
    while message:
        key, message = varint(message)
        kind = key & 7
        if kind == 0:
            value, message = varint(message)
        elif kind == 1:
            value, message = struct.unpack("<d", message[:8])[0], message[8:]
        elif kind == 5:
            value, message = struct.unpack("<f", message[:4])[0], message[4:]
        elif kind == 2:
            length, message = varint(message)
            assert length <= len(message), "a field is cut off"
            value, message = message[:length], message[length:]
        else:
            raise ValueError(f"wire type {kind}")
        yield key >> 3, value


def main():
    with open(sys.argv[1], "rb") as file:
        events = [list(fields(record)) for record in records(file.read())]
    assert dict(events[0])[3] == b"brain.Event:2", "the first event names no version"
    for event in events[1:]:
        entries = dict(event)
        assert entries[1] > 1e9, "an event has no time"
        for field, value in fields(entries[5]):
            assert field == 1
            scalar = dict(fields(value))
            print(entries.get(2, 0), scalar[1].decode(), f"{scalar[2]:.6g}")


if __name__ == "__main__":
    main()
