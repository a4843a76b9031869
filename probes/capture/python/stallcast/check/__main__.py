"""The command line of the check: `python -m stallcast.check run` and `python -m stallcast.check post`."""

import argparse
import os
import shlex
import shutil
import sys

from stallcast import _program

from . import comment, page, runs, verdict

EXIT_USAGE, EXIT_NO_TOOL = 2, 3
DEFAULT_CONDITION = "as_is_wait_frac>+5%"  # five points of the step


def arguments(words):
    parser = argparse.ArgumentParser(prog="python -m stallcast.check", description=__doc__,
                                     epilog="exit status of run: 0 passed, 1 failed, 2 usage, 3 no stallcast, "
                                            "5 not judged")
    commands = parser.add_subparsers(dest="task", required=True)
    run = commands.add_parser("run", help="measure base and head, compare them, decide")
    run.add_argument("--base", required=True, help="folder of the code without the change")
    run.add_argument("--head", required=True, help="folder of the code with the change")
    run.add_argument("--command", required=True, help="what to run in each folder, split into words as a shell would")
    run.add_argument("--name", default="training", help="tells several checks of one pull request apart")
    run.add_argument("--options", default="", help="more options for `stallcast profile`, for example '--phases as_is'")
    run.add_argument("--fail-on", action="append", default=[], metavar="'K>N%'",
                     help="condition of `stallcast diff`; repeatable, or one a line (default: as_is_wait_frac>+5%%)")
    run.add_argument("--rounds", type=int, default=2, help="runs of each side (default: 2)")
    run.add_argument("--warm-up", choices=("true", "false"), default="true",
                     help="run each side once before, uncounted, so that no side finds colder files (default: true)")
    run.add_argument("--on-unjudged", choices=("fail", "warn"), default="fail",
                     help="what it is where nothing can be said: exit status 5 or 0 (default: fail)")
    run.add_argument("--output", default="stallcast-check", help="folder for profiles and result")
    run.add_argument("--stallcast", help="the program (default: that of this package, or the one on PATH)")
    post = commands.add_parser("post", help="write the result of run as one comment of the pull or merge request")
    post.add_argument("--output", default="stallcast-check", help="the folder that was given to run")
    post.add_argument("--service", choices=("auto", "github", "gitlab"), default="auto", help="default: this job's")
    return parser.parse_args(words)


def refuse(what, status):
    print("stallcast check: " + what, file=sys.stderr)
    return status


def checked(options):
    """What is wrong with the options, or nothing."""
    if options.rounds < 1:
        return f"--rounds {options.rounds}: at least 1"
    if not page.NAME.match(options.name):
        return f"--name {options.name!r}: letters, digits, '.', '_' and '-' only, at most 60"
    for side in ("base", "head"):
        if not os.path.isdir(getattr(options, side)):
            return f"--{side} {getattr(options, side)} is no folder"
    try:
        options.command, options.options = shlex.split(options.command), shlex.split(options.options)
    except ValueError as error:
        return f"--command or --options: {error}"
    if not options.command:
        return "--command is empty"
    conditions = [line.strip() for text in options.fail_on for line in text.splitlines()]
    options.fail_on = [line for line in conditions if line] or [DEFAULT_CONDITION]
    return None


def program(given):
    """The tool: as given, else the one that this module came with or the one on PATH."""
    return shutil.which(given) if given else _program.find()


def append(variable, text):
    """Adds to a file that the build service names in the environment. False where it names none."""
    path = os.environ.get(variable)
    if not path:
        return False
    with open(path, "a", encoding="utf-8") as file:
        file.write(text + "\n")
    return True


def run(options):
    wrong = checked(options)
    if wrong:
        return refuse(wrong, EXIT_USAGE)
    tool = program(options.stallcast)
    if not tool:
        return refuse(f"{options.stallcast} cannot be run" if options.stallcast else _program.missing(), EXIT_NO_TOOL)
    wrong = verdict.wrong_conditions(tool, options.fail_on)
    if wrong:
        return refuse(wrong, EXIT_USAGE)
    os.makedirs(options.output, exist_ok=True)
    page.forget(options.output)  # should this run be cut off, no result of an earlier one is posted
    measured = runs.measure(tool, options)
    decision = verdict.decide(tool, measured, options)
    text = page.write(options.output, options, measured, decision)
    if not append("GITHUB_STEP_SUMMARY", text):
        print(text)
    append("GITHUB_OUTPUT", "verdict=" + decision.word)
    print("stallcast check: " + decision.sentence, flush=True)
    return decision.exit_status(options.on_unjudged)


def post(options):
    said = comment.post(options.output, options.service, os.environ)
    if said.usage:
        return refuse(said.text, EXIT_USAGE)
    print("stallcast check: " + said.text)
    if not said.posted:  # the check has its result all the same
        append("GITHUB_STEP_SUMMARY", f"\n_{said.text}_")
    return 0


def main(words=None):
    options = arguments(words)
    return run(options) if options.task == "run" else post(options)


if __name__ == "__main__":
    sys.exit(main())
