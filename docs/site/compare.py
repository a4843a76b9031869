"""Whether two outputs say the same: the same words, and numbers that differ by no more than builds of the tool do."""
import re

NUMBER = re.compile(r"-?\d+(?:,\d{3})*(?:\.\d+)?(?:e[-+]?\d+)?")
TOLERANCE = 0.02  # compilers and libraries round differently, and predictions are means of draws


def _parts(text):
    """(words, numbers); how much blank is between words follows the length of numbers, so it does not count."""
    numbers = [float(one.replace(",", "")) for one in NUMBER.findall(text)]
    return " ".join(NUMBER.sub("#", text).split()), numbers


def same(before, now):
    words_before, numbers_before = _parts(before)
    words_now, numbers_now = _parts(now)
    if words_before != words_now:
        return False
    return all(abs(a - b) <= TOLERANCE * max(abs(a), abs(b)) for a, b in zip(numbers_before, numbers_now))
