"""What is decided: `stallcast diff --same-workload --fail-on` judges each round, most rounds decide.

A round says no (exit status 1), yes (0), or that it cannot tell (5). The check fails where more than half of the rounds
say no, and passes where at least half say yes; otherwise it is not judged. Example, three rounds: no no yes fails,
no yes yes passes, no yes unknown is not judged. With one round the check is the diff.
"""

import os
import subprocess
import tempfile

from .runs import OUR_FAILURE

PASSED, FAILED, UNJUDGED = "passed", "failed", "unjudged"
EXIT_USAGE, EXIT_NOT_JUDGED = 2, 5


class Round:
    """What diff said of one round: its exit status, the comparison as Markdown, and what it complained about."""

    def __init__(self, status, table, complaint):
        self.status = status
        self.table = table
        self.complaint = complaint


class Decision:
    def __init__(self, word, sentence, rounds=(), reason=""):
        self.word = word
        self.sentence = sentence
        self.rounds = list(rounds)
        self.reason = reason

    def exit_status(self, on_unjudged):
        if self.word == UNJUDGED:
            return EXIT_NOT_JUDGED if on_unjudged == "fail" else 0
        return 1 if self.word == FAILED else 0


def diff(tool, folder, conditions):
    """Compares `base` and `head` in `folder`."""
    command = [tool, "diff", "base", "head", "--same-workload", "-f", "md"]
    for condition in conditions:
        command += ["--fail-on", condition]
    done = subprocess.run(command, cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          check=False)
    return Round(done.returncode, done.stdout.decode(errors="replace"), done.stderr.decode(errors="replace").strip())


def wrong_conditions(tool, conditions):
    """What diff says of conditions that it does not understand, before anything runs; else None."""
    with tempfile.TemporaryDirectory() as nothing:
        asked = diff(os.path.abspath(tool), nothing, conditions)
    return asked.complaint if asked.status == EXIT_USAGE else None


def of_rounds(rounds):
    """The decision that `rounds` (at least one) make together."""
    said_no = sum(one.status == 1 for one in rounds)
    said_yes = sum(one.status == 0 for one in rounds)
    of_all = f"{said_no} of {len(rounds)} {'round' if len(rounds) == 1 else 'rounds'}"
    if 2 * said_no > len(rounds):
        return Decision(FAILED, f"Failed: a condition holds beyond noise in {of_all}.", rounds)
    if 2 * said_yes >= len(rounds):
        found = "in no round" if said_no == 0 else f"in {of_all} only"
        return Decision(PASSED, f"Passed: a condition holds beyond noise {found}.", rounds)
    reasons = []
    for one in rounds:
        if one.status not in (0, 1) and one.complaint not in reasons:
            reasons.append(one.complaint or f"stallcast diff ended with status {one.status}")
    return Decision(UNJUDGED, "Not judged: the comparison says neither yes nor no.", rounds, "\n".join(reasons))


def of_failure(measured):
    """The decision where one side did not run to its end."""
    side, status = measured.failed_side, measured.failed_status
    if status == OUR_FAILURE or status < 0:  # below 0: a signal ended the tool itself
        return Decision(UNJUDGED, f"Not judged: stallcast could not profile the {side}; the job's log says why.")
    what = f"ended with status {status}"
    if side == "base":
        return Decision(UNJUDGED, f"Not judged: the command {what} on the base, so there is nothing to compare with.")
    return Decision(FAILED, f"Failed: the command {what} on the head. On the base it ran.")


def decide(tool, measured, options):
    if measured.failed_side:
        return of_failure(measured)
    tool = os.path.abspath(tool)
    return of_rounds([diff(tool, folder, options.fail_on) for folder in measured.rounds])
