"""The comments of a pull request of GitHub and of a merge request of GitLab, through their REST APIs."""

import http.client
import json
import urllib.error
import urllib.parse
import urllib.request

TIMEOUT_S = 30
MOST_PAGES = 200
DENIED = (401, 403, 404)


class Refused(Exception):
    """The service does not let us; asking again does not help."""


class Trouble(Exception):
    """The service cannot be reached or has trouble of its own; asking again may help."""


def is_limit(error):
    """Too many requests: GitHub also says so with a 403."""
    headers = error.headers or {}
    return error.code == 429 or (
        error.code == 403 and (headers.get("Retry-After") or headers.get("X-RateLimit-Remaining") == "0"))


class Service:
    """What both have in common. `permission` says what a user has to do where we are refused."""

    service = ""
    thing = ""
    update_method = ""
    permission = ""

    def __init__(self, api, token, thread):
        missing = [what for what, value in (("its API", api), ("a token", token)) if not value]
        if not thread:
            raise Refused(f"this job belongs to no {self.service} {self.thing}")
        if missing:
            raise Refused(f"{' and '.join(missing)} is not given to this step; {self.permission}")
        self.api = api.rstrip("/")
        self.token = token

    def headers(self):
        raise NotImplementedError

    def call(self, method, path, data=None):
        """The answer's JSON. The token goes to the API alone: a redirection does not carry it on."""
        body = None if data is None else json.dumps(data).encode()
        request = urllib.request.Request(self.api + path, data=body, method=method)
        request.add_header("User-Agent", "stallcast-check")
        if body is not None:
            request.add_header("Content-Type", "application/json")
        for key, value in self.headers().items():
            request.add_unredirected_header(key, value)
        try:
            with urllib.request.urlopen(request, timeout=TIMEOUT_S) as answer:
                return json.loads(answer.read().decode())
        except urllib.error.HTTPError as error:
            with error:
                what = f"{self.service} answered {error.code} to {method}"
            if error.code >= 500 or is_limit(error):
                raise Trouble(what) from error
            if error.code in DENIED:
                raise Refused(f"{what}; {self.permission}") from error
            raise Refused(what) from error
        except (OSError, http.client.HTTPException, ValueError) as error:
            raise Trouble(f"{self.service}: {error}") from error

    def listed(self, path):
        """All pages, until one is empty: how many fit on one is the service's choice."""
        for number in range(1, MOST_PAGES + 1):
            entries = self.call("GET", f"{path}?per_page=100&page={number}")
            if not isinstance(entries, list) or not entries:
                return
            yield from (entry for entry in entries if isinstance(entry, dict))

    def comments(self):
        return self.listed(self.thread)

    def create(self, text):
        self.call("POST", self.thread, {"body": text})

    def update(self, number, text):
        self.call(self.update_method, self.comment_path(number), {"body": text})

    def own_user(self):
        """The token's user, or None for the token of a workflow, which has none."""
        try:
            return self.call("GET", "/user").get("id")
        except Refused:
            return None


class GitHub(Service):
    service, thing = "GitHub", "pull request"
    update_method = "PATCH"
    permission = "the job needs `permissions: pull-requests: write`, and the step GITHUB_TOKEN"

    def __init__(self, environment):
        number, fork = self.pull_request(environment.get("GITHUB_EVENT_PATH"))
        if fork:
            self.permission = "a pull request from a fork may not write comments, see the job summary"
        repository = environment.get("GITHUB_REPOSITORY", "")
        super().__init__(environment.get("GITHUB_API_URL"), environment.get("GITHUB_TOKEN"), number)
        self.repository = "/repos/" + urllib.parse.quote(repository)
        self.thread = f"{self.repository}/issues/{number}/comments"

    @staticmethod
    def pull_request(path):
        """Its number (None: the event is no pull request's), and whether it comes from another repository."""
        try:
            with open(path or "", encoding="utf-8") as file:
                pull = json.load(file)["pull_request"]
            head, base = pull["head"].get("repo") or {}, pull["base"].get("repo") or {}
            return int(pull["number"]), head.get("full_name") != base.get("full_name")
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            return None, False

    def headers(self):
        return {"Authorization": "Bearer " + self.token, "Accept": "application/vnd.github+json",
                "X-GitHub-Api-Version": "2022-11-28"}

    def comment_path(self, number):
        return f"{self.repository}/issues/comments/{int(number)}"

    @staticmethod
    def is_ours(comment, me):
        user = comment.get("user") or {}
        return user.get("id") == me if me is not None else user.get("type") == "Bot"


class GitLab(Service):
    service, thing = "GitLab", "merge request"
    update_method = "PUT"
    permission = ("STALLCAST_GITLAB_TOKEN must hold a project access token with scope `api`; "
                  "a merge request from a fork does not get it")

    def __init__(self, environment):
        request = environment.get("CI_MERGE_REQUEST_IID")
        super().__init__(environment.get("CI_API_V4_URL"), environment.get("STALLCAST_GITLAB_TOKEN"), request)
        project = environment.get("CI_MERGE_REQUEST_PROJECT_ID") or environment.get("CI_PROJECT_ID", "")
        self.thread = f"/projects/{urllib.parse.quote(project, safe='')}/merge_requests/{int(request)}/notes"

    def headers(self):
        return {"PRIVATE-TOKEN": self.token}

    def comment_path(self, number):
        return f"{self.thread}/{int(number)}"

    @staticmethod
    def is_ours(comment, me):
        return me is not None and (comment.get("author") or {}).get("id") == me
