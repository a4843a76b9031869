"""The index lists around where a pass is: those that were drawn lately, and those that are told ahead."""

_MOST_AHEAD = 4096  # that are kept
_AT_ONCE = 16  # that are taken at a time
_KEPT = 512  # that were drawn: the script has been given those that are not under way


class Lookahead:
    """From list number `first` on. `take(count)`: so many of those that follow, fewer where there are no more."""

    def __init__(self, take, first=0):
        self._take = take
        self._lists = []
        self._first = first

    def at(self, first, count):
        """Lists first, first + 1, ... as far as there are any; of those that were given up none."""
        begin, end = max(first, self._first), first + count
        missing = end - self._first - len(self._lists)
        if end <= begin or end - self._first > _MOST_AHEAD:
            return []
        if missing > 0:
            self._lists.extend(self._take(max(missing, _AT_ONCE)))
        return self._lists[begin - self._first : end - self._first]

    def drawn(self, number):
        """torch drew list `number`."""
        if number + 1 - self._first > 2 * _KEPT:
            del self._lists[: number + 1 - self._first - _KEPT]
            self._first = number + 1 - _KEPT
