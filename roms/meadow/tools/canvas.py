"""A tiny drawing surface.  Pixels are (r, g, b) with 5 bits each, or None for transparent.

Everything is integer or exactly repeatable float arithmetic, so the same source gives the same
bytes on every machine.
"""
import math
import struct
import zlib


def rgb(text):
    """'#rrggbb' -> 5-bit triple."""
    return tuple(int(text[i:i + 2], 16) >> 3 for i in (1, 3, 5))


def mix(a, b, t):
    return tuple(int(round(x + (y - x) * t)) for x, y in zip(a, b))


class Canvas:
    def __init__(self, w, h, fill=None):
        self.w, self.h = w, h
        self.px = [[fill] * w for _ in range(h)]

    def put(self, x, y, c):
        if 0 <= x < self.w and 0 <= y < self.h:
            self.px[y][x] = c

    def get(self, x, y):
        return self.px[y][x] if 0 <= x < self.w and 0 <= y < self.h else None

    def rect(self, x, y, w, h, c):
        for j in range(y, y + h):
            for i in range(x, x + w):
                self.put(i, j, c)

    def frame(self, x, y, w, h, c):
        self.rect(x, y, w, 1, c)
        self.rect(x, y + h - 1, w, 1, c)
        self.rect(x, y, 1, h, c)
        self.rect(x + w - 1, y, 1, h, c)

    def disc(self, cx, cy, rx, ry, c):
        for y in range(int(cy - ry) - 1, int(cy + ry) + 2):
            for x in range(int(cx - rx) - 1, int(cx + rx) + 2):
                if ((x - cx) / rx) ** 2 + ((y - cy) / ry) ** 2 <= 1:
                    self.put(x, y, c)

    def blit(self, src, x, y, flip=False):
        for j in range(src.h):
            for i in range(src.w):
                c = src.px[j][src.w - 1 - i if flip else i]
                if c is not None:
                    self.put(x + i, y + j, c)

    def ascii(self, rows, key, x=0, y=0):
        """Stamp text art; characters missing from key (and '.') are transparent."""
        for j, row in enumerate(rows):
            for i, ch in enumerate(row):
                if ch != '.' and ch in key:
                    self.put(x + i, y + j, key[ch])

    def crop(self, x, y, w, h):
        out = Canvas(w, h)
        for j in range(h):
            for i in range(w):
                out.px[j][i] = self.get(x + i, y + j)
        return out

    def png(self, path, scale=1, back=(31, 0, 31)):
        rows = b''
        for line in self.px:
            row = b''.join(bytes(v << 3 | v >> 2 for v in (c or back)) * scale for c in line)
            rows += (b'\0' + row) * scale

        def chunk(tag, body):
            data = tag + body
            return struct.pack('>I', len(body)) + data + struct.pack('>I', zlib.crc32(data))
        with open(path, 'wb') as f:
            f.write(b'\x89PNG\r\n\x1a\n'
                    + chunk(b'IHDR', struct.pack('>IIBBBBB', self.w * scale, self.h * scale, 8, 2, 0, 0, 0))
                    + chunk(b'IDAT', zlib.compress(rows, 9)) + chunk(b'IEND', b''))


# ---- shaded, outlined shapes: the "clay" look of the monsters and the trees ----

def spline(points, steps=8):
    """Closed Catmull-Rom curve through the points."""
    n, out = len(points), []
    for i in range(n):
        p0, p1, p2, p3 = (points[(i + k - 1) % n] for k in range(4))
        for s in range(steps):
            t = s / steps
            out.append(tuple(0.5 * (2 * b + (c - a) * t + (2 * a - 5 * b + 4 * c - d) * t * t
                                    + (3 * b - a - 3 * c + d) * t * t * t)
                             for a, b, c, d in zip(p0, p1, p2, p3)))
    return out


def inside(points, x, y):
    hit, n = False, len(points)
    for i in range(n):
        (x1, y1), (x2, y2) = points[i], points[i - 1]
        if (y1 > y) != (y2 > y) and x < (x2 - x1) * (y - y1) / (y2 - y1) + x1:
            hit = not hit
    return hit


def ellipse(cx, cy, rx, ry, turn=0):
    a = math.radians(turn)
    ca, sa = math.cos(a), math.sin(a)
    return [(round(cx + rx * math.cos(k / 16 * math.pi) * ca - ry * math.sin(k / 16 * math.pi) * sa, 4),
             round(cy + rx * math.cos(k / 16 * math.pi) * sa + ry * math.sin(k / 16 * math.pi) * ca, 4))
            for k in range(32)]


def clay(cv, points, ramp, outline, shade=1.0):
    """Fill a polygon with light from the upper left; ramp goes from dark to light (4 tones)."""
    xs, ys = [p[0] for p in points], [p[1] for p in points]
    x0, x1, y0, y1 = min(xs), max(xs), min(ys), max(ys)
    cx, cy = (x0 + x1) / 2, (y0 + y1) / 2
    rx, ry = max((x1 - x0) / 2, 1), max((y1 - y0) / 2, 1)
    mask = {(x, y) for y in range(int(y0) - 1, int(y1) + 2) for x in range(int(x0) - 1, int(x1) + 2)
            if inside(points, x + 0.501, y + 0.501)}
    for x, y in sorted(mask):
        u, v = (x + 0.5 - cx) / rx, (y + 0.5 - cy) / ry
        lit = (-0.55 * u - 0.75 * v) * shade
        far = u * u + v * v
        tone = 2
        if lit < -0.38 and far > 0.30:
            tone = 1
        if lit < -0.72 and far > 0.55:
            tone = 0
        if lit > 0.30 and 0.12 < far < 0.62:
            tone = 3
        edge = any(q not in mask for q in ((x + 1, y), (x - 1, y), (x, y + 1), (x, y - 1)))
        cv.put(x, y, outline if edge and outline else ramp[tone])
    return mask
