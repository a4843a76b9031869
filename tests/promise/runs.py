"""One run of a job in a fresh copy of its folder, plainly or under stallcast, and what is seen of it from outside."""
import dataclasses
import json
import os
import pathlib
import shutil
import signal
import subprocess
import time
import uuid

QUIET = 'exec "$@" > "$PROMISE_OUT/stdout" 2> "$PROMISE_OUT/stderr"'
LINGER_S = 10  # processes may take this long to follow their command


@dataclasses.dataclass
class Job:
    """A seeded command. `template` is copied to the working folder of each run, which has the same path in all runs.
    {now} in the environment is the folder above it."""

    name: str
    command: list
    template: str = ""
    environment: dict = dataclasses.field(default_factory=dict)
    plain_environment: dict = dataclasses.field(default_factory=dict)  # what makes plain runs shorter, and nothing else
    dropped_lines: tuple = ()
    options: tuple = ()  # more options of `profile`
    prefix: tuple = ()  # goes before stallcast and the command alike (limits)
    user: int = 0  # whom the folders belong to, where another user runs the command
    status: str = "0"  # with which it ends plainly
    timeout: float = 300
    expects: tuple = ()  # ids of issues that the profile must have


@dataclasses.dataclass
class Run:
    """What is left of a run; its folder holds work/, log/, tmp/, stdout, stderr, and tool.out, tool.err, profile/."""

    folder: str
    status: str  # exit status as a shell tells it
    seconds: float
    processes: list
    temporary: int  # files left, but for `killed`
    killed: int  # folders of multiprocessing that a worker left which was killed at the end
    ours: list  # what of stallcast's stayed in the folder for temporary files
    profile: dict

    def text(self, name):
        path = pathlib.Path(self.folder, name)
        return path.read_text(errors="replace") if path.exists() else ""

    def part(self, name):
        return os.path.join(self.folder, name)


def give_away(folder, user):
    """All of a folder belongs to another user, who may also go through those above it."""
    for where, folders, files in os.walk(folder):
        for name in [".", *folders, *files]:
            os.lchown(os.path.join(where, name), user, user)
    above = os.path.dirname(folder)
    while above != "/" and os.stat(above).st_uid == os.getuid() and not os.stat(above).st_mode & 1:
        os.chmod(above, os.stat(above).st_mode | 0o011)
        above = os.path.dirname(above)


def alive(mark):
    """Ids and commands of the processes that carry this run's mark in their environment."""
    found = {}
    for entry in os.listdir("/proc"):
        if not entry.isdigit() or int(entry) == os.getpid():
            continue
        try:
            with open(f"/proc/{entry}/environ", "rb") as file:
                if mark not in file.read():
                    continue
            with open(f"/proc/{entry}/cmdline", "rb") as file:
                command = file.read().replace(b"\0", b" ").decode(errors="replace").strip()
            with open(f"/proc/{entry}/stat") as file:
                if file.read().rpartition(")")[2].split()[0] != "Z":
                    found[int(entry)] = command
        except OSError:
            continue
    return found


def left_processes(mark):
    """Processes that outlive the command by some seconds. They are ended here."""
    deadline = time.monotonic() + LINGER_S
    while alive(mark) and time.monotonic() < deadline:
        time.sleep(0.1)
    left = alive(mark)
    for pid in left:
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
    return sorted(left.values())


def stallcast_words(job, mode, binary, options, folder):
    words = [binary, "profile", "-q", "--force", "-o", folder + "/profile", *job.options]
    return words + (["--phases", "as_is"] if mode == "as_is" else list(options)) + ["--"]


def run(job, place, title, mode="plain", binary=None, options=()):
    """mode: plain, as_is or measured. place/now is where every run of a job lives; it is place/title afterwards."""
    now, kept = os.path.join(place, "now"), os.path.join(place, title)
    for folder in (now, kept):
        shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(now + "/log")
    os.makedirs(now + "/tmp")
    if job.template:
        shutil.copytree(job.template, now + "/work", symlinks=True)
    os.makedirs(now + "/work", exist_ok=True)
    if job.user:
        give_away(now, job.user)
    mark = f"PROMISE_RUN={uuid.uuid4()}"
    environment = {key: value for key, value in os.environ.items() if not key.startswith("STALLCAST_")}
    environment.update({"PROMISE_LOG": now + "/log/log", "PROMISE_OUT": now, "TMPDIR": now + "/tmp",
                        "PROMISE_RUN": mark.partition("=")[2], "PYTHONHASHSEED": "0", "PYTHONDONTWRITEBYTECODE": "1",
                        **{key: value.replace("{now}", now) for key, value in job.environment.items()},
                        **(job.plain_environment if mode == "plain" else {})})
    command = ["sh", "-c", QUIET, "sh", *job.command]
    if mode != "plain":
        command = stallcast_words(job, mode, binary, options, now) + command
    begin = time.monotonic()
    with open(now + "/tool.out", "w") as out, open(now + "/tool.err", "w") as err:
        process = subprocess.Popen([*job.prefix, *command], cwd=now + "/work", env=environment, stdin=subprocess.DEVNULL,
                                   stdout=out, stderr=err, start_new_session=True)
        try:
            status = str(process.wait(job.timeout))
        except subprocess.TimeoutExpired:
            status = f"hung ({job.timeout:.0f} s)"
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
    seconds = time.monotonic() - begin
    processes = left_processes(mark.encode())
    if status.startswith("-"):  # as a shell, and stallcast, tell of a signal
        status = str(128 - int(status))
    temporary = os.listdir(now + "/tmp")
    ours = [name for name in temporary if "stallcast" in name]
    killed = [name for name in temporary if name.startswith("pymp-")]
    profile = {}
    if os.path.exists(now + "/profile/profile.json"):
        with open(now + "/profile/profile.json") as file:
            profile = json.load(file)
    os.rename(now, kept)
    return Run(kept, status, seconds, processes, len(temporary) - len(ours) - len(killed), len(killed), ours, profile)
