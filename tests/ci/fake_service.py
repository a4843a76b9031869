"""A web server that plays the comment APIs of GitHub and GitLab, in memory."""
import http.server
import json
import threading
import urllib.parse

PAGE = 30  # the service's own choice, whatever is asked for
BOT, OTHER = 7, 8


class Service:
    """`comments` as they are now; `requests` that came, and their `tokens`.

    failures     statuses that the next requests are answered with
    may_write    False: as with the token of a fork
    knows_user   False: as with the token of a workflow, of which GitHub tells no user
    lost         answers with this status to so many writes that it does carry out
    """

    def __init__(self, kind):
        self.kind = kind
        self.comments = []
        self.requests = []
        self.tokens = []
        self.redirect_to = None
        self.failures = []
        self.may_write = True
        self.knows_user = kind == "gitlab"
        self.lost = 0
        handler = type("Handler", (Handler,), {"service": self})
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}/api"
        self.thread = ("/api/repos/owner/project/issues/12/comments" if kind == "github"
                       else "/api/projects/34/merge_requests/12/notes")
        self.single = "/api/repos/owner/project/issues/comments/" if kind == "github" else self.thread + "/"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def close(self):
        self.server.shutdown()
        self.server.server_close()

    def add(self, body, user=OTHER, **more):
        comment = {"id": 100 + len(self.comments), "body": body, **more}
        comment["user" if self.kind == "github" else "author"] = {"id": user, "type": "Bot" if user == BOT else "User"}
        self.comments.append(comment)

    def answer(self, method, address, headers, data):
        """Status and JSON."""
        path = urllib.parse.urlsplit(address).path
        token = headers.get("PRIVATE-TOKEN" if self.kind == "gitlab" else "Authorization")
        self.requests.append((method, path))
        self.tokens.append(token)
        if self.failures:
            return self.failures.pop(0), {}
        if token != ("secret" if self.kind == "gitlab" else "Bearer secret"):
            return 401, {}
        if method == "GET":
            return self.read(path, urllib.parse.parse_qs(urllib.parse.urlsplit(address).query))
        if not self.may_write:
            return 403, {}
        status = self.write(method, path, data["body"])
        if self.lost:
            self.lost -= 1
            return 502, {}
        return status, {}

    def read(self, path, query):
        if path == "/api/user":
            return (200, {"id": BOT}) if self.knows_user else (403, {})
        if path != self.thread:
            return 404, {}
        first = (int(query["page"][0]) - 1) * PAGE
        return 200, self.comments[first:first + PAGE]

    def write(self, method, path, body):
        if method == "POST" and path == self.thread:
            self.add(body, BOT)
            return 201
        if method == ("PATCH" if self.kind == "github" else "PUT") and path.startswith(self.single):
            for comment in self.comments:
                if comment["id"] == int(path[len(self.single):]):
                    comment["body"] = body
                    return 200
        return 404


class Handler(http.server.BaseHTTPRequestHandler):
    service = None

    def handle_any(self):
        length = int(self.headers.get("Content-Length") or 0)
        data = json.loads(self.rfile.read(length)) if length else None
        status, answer = self.service.answer(self.command, self.path, self.headers, data)
        body = json.dumps(answer).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        if status in (301, 302):
            self.send_header("Location", self.service.redirect_to)
        self.end_headers()
        self.wfile.write(body)

    do_GET = do_POST = do_PUT = do_PATCH = handle_any

    def log_message(self, *words):
        pass
