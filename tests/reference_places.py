"""The twin of data/places.py: a nominal column that keeps every value in plain lists."""

from zlib import crc32

AT_ONCE, OWN, SHARED, GROUPS, GROUP = 64, 192, 64, 128, 8


class Column:
    """Which code a value gets, one after the other."""

    def __init__(self):
        self.codes = []  # what each code stands for: a text, or the number of a shared place
        self.births = []  # and the row in which it was given away
        self.met = [[] for _ in range(GROUPS)]  # values that came without having or getting a place, in order
        self.row = 0

    def learn(self, text):
        self.row += 1
        own = [key for key in self.codes if isinstance(key, str)]
        key = self.key(text)
        if key not in self.codes:
            self.codes.append(key)
            self.births.append(self.row)
        if key != text and len(own) < OWN:
            self.met[_hash(text) % GROUPS].append(text)
        return self.codes.index(key)

    def predict(self, text):
        key = self.key(text)
        return self.codes.index(key) if key in self.codes else len(self.codes)

    def key(self, text):
        own = [key for key in self.codes if isinstance(key, str)]
        if text in own or len(own) < AT_ONCE:
            return text
        if len(own) < OWN and text in self.met[_hash(text) % GROUPS][-GROUP:]:  # its second appearance
            return text
        if len(own) == OWN or sum(len(group[-GROUP:]) for group in self.met) > OWN - AT_ONCE:
            return _hash(text) % SHARED
        return 0


def _hash(text):
    return crc32(text.encode()) or 1
