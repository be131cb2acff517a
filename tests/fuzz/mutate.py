"""Damage to files: of bytes anywhere, and of text by lines and cells."""

from fuzz.draw import ODD_NAMES, chance, pick

_TOKENS = (
    *(b"", b"0", b"1", b"-1", b"2", b"?", b"nan", b"inf", b"-inf", b"1e999", b"1e-999", b"0x10", b"1_000", b"1,5"),
    *(b"99999999999999999999", b"4294967296", b"2147483648", b"1" * 400, b"NA", b"yes", b"no", b"true", b"+", b"-"),
    *(b"'", b'"', b"\\", b"{", b"}", b"{}", b"%", b"#", b":", b",", b";", b"|", b"\t", b" ", b"\n", b"\r", b"\r\n"),
    *(b"\x00", b"\x1a", b"\xff", b"\xc3", b"\xef\xbb\xbf", b"\xff\xfe", b"\xe2\x80\xa8", b"\xf0\x9f\x98\x80"),
    *(
        b"@data",
        b"@attribute x numeric",
        b"@attribute y {a,b}",
        b"@attribute z date",
        b"@attribute w string",
        b"@end w",
    ),
    *(b"@attribute v relational", b"@relation 'r: -C 2'", b"{0 1}", b"{0 1,1 1}", b"{99 1}", b"{-1 1}", b"{5}"),
    *(b"<label name='q'/>", b"</labels>", b"<!DOCTYPE a>", b"&lt;", b"qid:1", b"0:1", b"1:", b":1", b"1:1:1", b"#c"),
    *(b"0,0", b"3.5", b"-3"),
    *(name.encode() for name in ODD_NAMES),
)
_LENGTHS = (0, 1, 2, 127, 2**16, 2**31 - 1, 2**31, 2**48, 2**63 - 1, 2**64 - 1)


def damage_bytes(content, rng):
    """Change, delete, insert or repeat a few bytes anywhere, or cut the end off."""
    content = bytearray(content)
    for _ in range(rng.integers(1, 4)):
        position = int(rng.integers(len(content) + 1)) if chance(rng, 0.7) else int(rng.integers(16))
        size = int(rng.integers(1, 9))
        kind = rng.integers(7)
        if kind == 0 and position < len(content):
            content[position] ^= 1 << int(rng.integers(8))
        elif kind == 1:
            content[position : position + size] = rng.bytes(size)
        elif kind == 2:
            del content[position : position + int(rng.integers(1, 200))]
        elif kind == 3:
            content[position:position] = rng.bytes(size)
        elif kind == 4:
            content[position : position + 8] = pick(rng, _LENGTHS).to_bytes(8, "little")
        elif kind == 5:
            content[position:position] = content[position : position + int(rng.integers(1, 200))]
        else:
            del content[position:]
    return bytes(content)


def damage_text(content, rng):
    """Insert or replace tokens, and delete, repeat, exchange or join lines."""
    for _ in range(rng.integers(1, 4)):
        lines = content.split(b"\n")
        line, kind = int(rng.integers(len(lines))), rng.integers(8)
        if kind <= 2:
            lines[line] = _replace_cell(lines[line], rng)
        elif kind == 3:
            position = int(rng.integers(len(lines[line]) + 1))
            lines[line] = lines[line][:position] + pick(rng, _TOKENS) + lines[line][position:]
        elif kind == 4:
            del lines[line]
        elif kind == 5:
            lines.insert(int(rng.integers(len(lines) + 1)), lines[line])
        elif kind == 6:
            other = int(rng.integers(len(lines)))
            lines[line], lines[other] = lines[other], lines[line]
        else:
            lines[line] += lines.pop(line + 1) if line + 1 < len(lines) else pick(rng, _TOKENS)
        content = b"\n".join(lines)
    return content


def _replace_cell(line, rng):
    separators = [separator for separator in (b",", b";", b"\t", b"|", b" ", b":") if separator in line]
    if not separators:
        return pick(rng, _TOKENS)
    separator = pick(rng, separators)
    cells = line.split(separator)
    cells[int(rng.integers(len(cells)))] = pick(rng, _TOKENS)
    return separator.join(cells)


def damage(content, rng):
    """Either kind."""
    return (damage_text if chance(rng, 0.8) else damage_bytes)(content, rng)
