"""Which of the calls of two watched steps made their batches (watch.py)."""

import bisect
import collections
import os

from ..scripts import is_script
from . import watch

_NEGLIGIBLE = 0.2  # of the time of what is proven to make batches
_LISTS = ("<listcomp>", "<setcomp>", "<dictcomp>")
_FRAMEWORKS = tuple(os.sep + name + os.sep for name in ("torch", "numpy"))  # how they do things is theirs
_EXPRESSIONS = (*_LISTS, "<genexpr>")


class Makers:
    """Judges what a Watch has seen."""

    def __init__(self, seen):
        self._seen = seen
        self._found = {}  # code -> its calls that made arrays

    def find(self):
        """(code objects that make batches, whether a forward pass was given what they made). Empty: none was found. A
        generator of a library, or a function of one that the script calls, is one where no function of the script is proven
        to be."""
        codes, is_proven = self._makers(_is_of_script)
        if not is_proven and self._seen.is_torch:
            of_script = self._found
            for may_be in _is_generator_of_library, self._is_source_of_library:
                of_library, is_proven = self._makers(may_be)
                made = [code for code in of_library if not any(self._is_of_model(node) for node in self._found[code])]
                if is_proven and made:
                    return made, True
            is_proven, self._found = False, of_script
        return codes, is_proven

    def _is_source_of_library(self, node):
        """What makes the first array that a model is trained with, of none: a tokenizer, the sample of a replay buffer."""
        is_first = bool(node.made & self._seen.given_to_train.first)
        return node.is_of_library and is_first and not node.taken and not any(
            folder in node.code.co_filename for folder in _FRAMEWORKS)

    def _is_of_model(self, node):
        """Whether it gave parameters, or what a module returned."""
        return node.needs_gradients or bool(node.made & self._seen.gave)

    def _makers(self, may_be):
        self._found = found = {}
        for root in self._seen.roots:
            self._look(root, found, may_be)
        proven = self._given_by(self._seen.given_to_train) or self._given_by(self._seen.given)
        if proven:
            least = _NEGLIGIBLE * sum(_seconds(found[code]) for code in proven)
            made = set().union(*(node.made for code in proven for node in found[code]))
            beside = [code for code, nodes in found.items()
                      if code not in proven and _makes_too(nodes, made, least) and self._may_belong_to(proven, code)]
            if not self._seen.is_torch:  # where the forward pass begins is not seen: an evaluation may lie before it, too
                beside = [code for code in beside
                          if len(found[code]) >= watch.STEPS and all(map(self._is_like_given, found[code]))]
            codes = self._with_what_they_take(self._sources_among(proven + beside))
            return (codes, True) if self._may_be_batches(codes) else ([], False)
        return [code for code, nodes in found.items() if not any(node.needs_gradients for node in nodes)], False

    def _given_by(self, given):
        """Codes whose calls made what modules were given."""
        return [code for code, nodes in self._found.items() if any(node.made & given.arrays for node in nodes)]

    def _may_be_batches(self, codes):
        """A mask that a model is given beside a batch of the loop's own is not as long as what it is given first. Nor is what
        a model acts on, without gradients, as long as what it is trained on."""
        first = self._seen.given_to_train.first_lengths or self._seen.given.first_lengths
        return not first or any(self._lengths_of(code) & first for code in codes)

    def _may_belong_to(self, proven, code):
        """A part of a batch is as long as that, or one of its samples, and so made more often than it."""
        sources = [one for one in proven if self._is_source(one)]
        lengths = set().union(*map(self._lengths_of, sources))
        most = max((len(self._found[one]) for one in sources), default=0)
        return len(self._found[code]) > most or bool(self._lengths_of(code) & lengths)

    def _sources_among(self, codes):
        """What takes something that a module returned (the state of a recurrent one) passes it on. Where nothing else is
        there, all."""
        return [code for code in codes if self._is_source(code)] or codes

    def _is_source(self, code):
        return not any(node.taken & self._seen.gave for node in self._found[code])

    def in_turn(self, codes, is_proven):
        """(these makers of one batch in the order of their calls, the one that gives it); nothing and None where that is not
        known. Where several are called in each step, it is the one that is called least often, the last of such: others are
        called for each of its parts. Those that may be it have to make arrays of one length; what is not proven, as long as
        those that modules were given."""
        if not is_proven:
            codes = [code for code in codes if all(self._is_like_given(node) for node in self._found[code])]
        codes = sorted(codes, key=lambda code: self._found[code][-1].number)
        calls = {code: len(self._trained_with(code)) for code in codes}
        fewest = min((count for count in calls.values() if count >= watch.STEPS), default=None)
        taken = set().union(*(node.taken for code in codes for node in self._found[code]))
        may_give = [code for code in codes if calls[code] == fewest and not self._made_by(code) <= taken]
        if not may_give or not set.intersection(*map(self._lengths_of, may_give)):
            return [], None
        return codes, may_give[-1]

    def are_by_turns(self, codes):
        """Whether several gave batches, each of them in steps in which no other one did."""
        when = [{bisect.bisect_left(self._seen.step_calls, node.number) for node in self._found[code]} for code in codes]
        return len(codes) > 1 and sum(map(len, when)) == len(set().union(*when))

    def _made_by(self, code):
        return set().union(*(node.made for node in self._found[code]))

    def _lengths_of(self, code):
        return {self._seen.arrays.lengths[number] for number in self._made_by(code)}

    def _is_like_given(self, node):
        given = {self._seen.arrays.lengths[number] for number in self._seen.given_to_train.arrays or self._seen.given.arrays}
        return node.is_early and any(self._seen.arrays.lengths[number] in given for number in node.made)

    def _trained_with(self, code):
        nodes = self._found[code]
        return [node for node in nodes if node.is_graded] or nodes

    def _with_what_they_take(self, codes):
        """These, and what makes the arrays that they are called with."""
        nodes = [node for code in codes for node in self._found[code]]
        taken = set().union(*(node.taken for node in nodes))
        before = [code for code, nodes in self._found.items() if code not in codes and any(node.made & taken for node in nodes)]
        return self._with_what_they_take(codes + before) if before else codes

    def handed_over(self):
        """Code that handed over what looks like batches."""
        return list(dict.fromkeys(node.code for node in self._outermost()))

    def handed_as_is(self, makers):
        """Code that handed over whole batches: what a forward pass was given, or what one of `makers` returned. Parts that
        make up a batch (results of a pool) are more than those. Where nothing makes batches, all that looks like some."""
        makings = [node for code in makers for node in self._found[code]]
        wanted = self._seen.given.arrays.union(*(node.made for node in makings))
        handed = [node for node in self._outermost() if not makings or node.made & wanted]
        calls = collections.Counter(node.code for node in handed)
        return [code for code, count in calls.items() if count <= max(len(makings), self._seen.forward_calls)]

    def _outermost(self):
        handed = [node for node in self._seen.handed if node.is_batch]
        inner = {id(child) for node in handed for child in _below(node)}
        return [node for node in handed if id(node) not in inner]

    def fresh(self, codes):
        """Those that make batches of no other arrays."""
        return [code for code in codes if not any(node.taken for node in self._found[code])]

    def is_without_gradients(self, code):
        """Whether gradients were off in all calls of one of the makers."""
        return not any(node.is_graded for node in self._found[code])

    def calls_each(self, code):
        """Calls of one of the makers in a step; more are those of an evaluation."""
        numbers, calls, before = [node.number for node in self._found[code]], [], -1
        for last in self._seen.step_calls:
            calls.append(sum(1 for number in numbers if before < number <= last))
            before = last
        return max(1, min(calls, default=1))

    def _look(self, node, found, may_be):
        is_maker = not node.trains and not node.is_open and node.made and may_be(node) and not _only_holds(node)
        if is_maker and node.code.co_name not in _EXPRESSIONS:
            found.setdefault(node.code, []).append(node)
            return
        before = sum(map(len, found.values()))
        for child in node.children:
            self._look(child, found, may_be)
        # An expression is the loop's own line, if functions make what it gives, and a list of arrays made within it is one.
        if is_maker and node.code.co_name not in _LISTS and before == sum(map(len, found.values())):
            found.setdefault(node.code, []).append(node)


def _below(node):
    for child in node.children:
        yield child
        yield from _below(child)


def _only_holds(node):
    """A named tuple's own code, which comes of no file, gives what it is called with."""
    return node.code.co_filename == "<string>" and node.made <= node.taken


def _is_of_script(node):
    return is_script(node.code)


def _is_generator_of_library(node):
    return bool(node.code.co_flags & watch.GENERATOR) and not is_script(node.code)


def _makes_too(nodes, made, least):
    """Whether these calls make a part of the batch that no module is given (the targets of a loss), and take no short
    time for it. What is called with the batch makes something of it (a metric)."""
    if any(node.taken & made for node in nodes):
        return False
    early = [node for node in nodes if node.is_early and not node.needs_gradients]
    return _seconds(early) > least


def _seconds(nodes):
    """How long these calls of a function take: by the shortest, as a busy machine may interrupt any of them."""
    return len(nodes) * min((node.seconds for node in nodes), default=0)
