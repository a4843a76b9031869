"""One comment, written and then updated, in a pull request of GitHub and a merge request of GitLab."""
import json
import unittest

from fake_service import BOT, PAGE, Service
from harness import CheckTest

MARKER = "<!-- stallcast-check: training -->"


class Comment:
    """What both services must do."""

    kind = ""

    def setUp(self):
        super().setUp()
        self.service = Service(self.kind)
        self.addCleanup(self.service.close)
        self.output.mkdir()
        self.write("first")

    def write(self, text, marker=MARKER):
        (self.output / "check.md").write_text(f"{marker}\n## {text}\n", encoding="utf-8")

    def post(self, **environment):
        environment = {**self.job(), "STALLCAST_CHECK_PAUSE_S": "0.01", **environment}
        given = {key: value for key, value in environment.items() if value}
        done = self.check("post", "--output", self.output, **given)
        self.assert_status(done, 0)
        return done.stdout

    def bodies(self):
        return [comment["body"] for comment in self.service.comments]

    def told(self):
        return self.summary.read_text() if self.summary.exists() else ""

    def test_it_is_written_once_and_then_updated(self):
        self.assertIn("was written", self.post())
        self.write("second")
        self.assertIn("was updated", self.post())
        self.assertEqual(self.bodies(), [f"{MARKER}\n## second\n"])
        self.assertEqual(self.told(), "")

    def test_it_is_found_on_a_later_page(self):
        for number in range(2 * PAGE + 3):
            self.service.add(f"remark {number}")
        self.post()
        for number in range(PAGE):
            self.service.add(f"later remark {number}")
        self.write("second")
        self.post()
        self.assertEqual([body for body in self.bodies() if "remark" not in body], [f"{MARKER}\n## second\n"])

    def test_a_page_that_is_exactly_full_is_the_last_one(self):
        for number in range(PAGE):
            self.service.add(f"remark {number}")
        self.post()
        self.post()
        self.assertEqual(len(self.bodies()), PAGE + 1)

    def test_checks_of_other_names_and_other_peoples_comments_stay(self):
        others = [f"{MARKER}\nwritten by somebody", f"> {MARKER}\na quotation"]
        for body in others:
            self.service.add(body)
        self.service.add("<!-- stallcast-check: other -->\n", BOT)
        self.service.add(None)  # a review without a text
        self.post()
        self.post()
        self.assertEqual(self.bodies(), [*others, "<!-- stallcast-check: other -->\n", None, f"{MARKER}\n## first\n"])

    def test_where_writing_is_not_allowed_the_summary_says_so(self):
        self.service.may_write = False
        said = self.post()
        self.assertIn("No comment", said)
        self.assertIn("403", said)
        self.assertIn("No comment", self.told())
        self.assertEqual(sum(method != "GET" for method, _ in self.service.requests), 1)  # a refusal is not asked again

    def test_a_wrong_token_is_refused(self):
        self.assertIn("401", self.post(GITHUB_TOKEN="wrong", STALLCAST_GITLAB_TOKEN="wrong"))
        self.assertEqual(self.bodies(), [])

    def test_without_a_token_nothing_is_asked(self):
        self.assertIn("a token is not given", self.post(GITHUB_TOKEN="", STALLCAST_GITLAB_TOKEN=""))
        self.assertEqual(self.service.requests, [])

    def test_a_service_in_trouble_is_asked_again(self):
        self.service.failures = [502, 503]
        self.assertIn("was written", self.post())
        self.service.failures = [429]
        self.assertIn("was updated", self.post())
        self.assertEqual(len(self.bodies()), 1)

    def test_a_service_that_stays_in_trouble_does_not_fail_the_check(self):
        self.service.failures = [500] * 20
        said = self.post()
        self.assertIn("after 3 attempts", said)
        self.assertIn("500", self.told())
        self.assertEqual(len(self.service.requests), 3)

    def test_an_answer_that_was_lost_makes_no_second_comment(self):
        self.service.lost = 1
        self.assertIn("was updated", self.post())
        self.assertEqual(len(self.bodies()), 1)

    def test_a_service_that_is_not_there(self):
        self.service.close()
        self.assertIn("No comment after 3 attempts", self.post())
        self.service = Service(self.kind)  # for the clean-up
        self.addCleanup(self.service.close)

    def test_a_token_does_not_follow_a_redirection(self):
        elsewhere = Service(self.kind)
        self.addCleanup(elsewhere.close)
        self.service.redirect_to = elsewhere.url + "/user"
        self.service.failures = [302] * 20
        self.post()
        self.assertEqual(self.service.tokens[0], "Bearer secret" if self.kind == "github" else "secret")
        self.assertNotEqual(elsewhere.requests, [])
        self.assertEqual(set(elsewhere.tokens), {None})

    def test_without_a_result_nothing_is_written(self):
        for text in (None, "", "any text\n", MARKER, f"{MARKER}\n" + "x" * 70000):
            (self.output / "check.md").unlink()
            if text is not None:
                (self.output / "check.md").write_text(text)
            self.assertIn("there is no result", self.post())
            (self.output / "check.md").touch()
        self.assertEqual(self.service.requests, [])


class GitHub(Comment, CheckTest):
    kind = "github"

    def event(self, **event):
        path = self.folder / f"event-{len(list(self.folder.iterdir()))}.json"
        path.write_text(json.dumps(event))
        return str(path)

    def job(self, head="owner/project"):
        pull = {"number": 12, "title": "$(touch made)", "head": {"repo": head and {"full_name": head}},
                "base": {"repo": {"full_name": "owner/project"}}}
        return {"GITHUB_ACTIONS": "true", "GITHUB_API_URL": self.service.url, "GITHUB_REPOSITORY": "owner/project",
                "GITHUB_EVENT_PATH": self.event(pull_request=pull), "GITHUB_TOKEN": "secret"}

    def test_a_fork_is_named_as_the_reason(self):
        self.service.may_write = False
        for head in ("stranger/project", None):  # None: the fork was deleted
            with self.subTest(head):
                self.assertIn("from a fork", self.post(**self.job(head)))
        self.assertNotIn("from a fork", self.post())

    def test_a_personal_token_updates_its_own_comment_alone(self):
        self.service.knows_user = True
        self.service.add(MARKER, user=BOT + 100)
        self.post()
        self.post()
        self.assertEqual(self.bodies(), [MARKER, f"{MARKER}\n## first\n"])

    def test_an_event_of_no_pull_request(self):
        for event in ({}, {"pull_request": None}, {"push": {}}):
            self.assertIn("no GitHub pull request", self.post(GITHUB_EVENT_PATH=self.event(**event)))
        self.assertIn("no GitHub pull request", self.post(GITHUB_EVENT_PATH=str(self.folder / "missing")))
        self.assertEqual(self.service.requests, [])


class GitLab(Comment, CheckTest):
    kind = "gitlab"

    def job(self):
        return {"GITLAB_CI": "true", "CI_API_V4_URL": self.service.url, "CI_MERGE_REQUEST_PROJECT_ID": "34",
                "CI_PROJECT_ID": "56", "CI_MERGE_REQUEST_IID": "12", "STALLCAST_GITLAB_TOKEN": "secret"}

    def test_a_pipeline_of_no_merge_request(self):
        self.assertIn("no GitLab merge request", self.post(CI_MERGE_REQUEST_IID=""))
        self.assertEqual(self.service.requests, [])


class NoService(CheckTest):
    def test_outside_of_both_the_service_must_be_named(self):
        self.assert_status(self.check("post"), 2)


if __name__ == "__main__":
    unittest.main()
