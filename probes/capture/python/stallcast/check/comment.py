"""Writes the result as one comment: the one of an earlier run, found by its marker, or a new one.

Nothing here decides about the check. Where no comment can be written, that is said, with the reason.
"""

import time

from . import page, services

ATTEMPTS = 3
FIRST_PAUSE_S = 2.0


class Said:
    def __init__(self, text, posted=False, usage=False):
        self.text = text
        self.posted = posted
        self.usage = usage


def named_service(name, environment):
    if name == "auto":
        name = ("github" if environment.get("GITHUB_ACTIONS") == "true"
                else "gitlab" if environment.get("GITLAB_CI") == "true" else None)
    return {"github": services.GitHub, "gitlab": services.GitLab}.get(name)


def update_or_create(service, marker, text):
    """Changes our comment, or writes one if there is none. Looks for it anew each time: an attempt that seemed to fail
    may have written it."""
    me = service.own_user()
    for comment in service.comments():
        if str(comment.get("body", "")).startswith(marker) and service.is_ours(comment, me):
            service.update(comment["id"], text)
            return "The comment was updated."
    service.create(text)
    return "The comment was written."


def post(output, service_name, environment):
    kind = named_service(service_name, environment)
    if kind is None:
        return Said("neither GITHUB_ACTIONS nor GITLAB_CI is set: name the service with --service", usage=True)
    text = page.read(output)
    if text is None:
        return Said(f"No comment: there is no result in {output}.")
    marker = text.split("\n", 1)[0]
    pause = float(environment.get("STALLCAST_CHECK_PAUSE_S", FIRST_PAUSE_S))
    for attempt in range(ATTEMPTS):
        try:
            return Said(update_or_create(kind(environment), marker, text), posted=True)
        except services.Refused as refused:
            return Said(f"No comment: {refused}.")
        except services.Trouble as trouble:
            last = trouble
        if attempt + 1 < ATTEMPTS:
            time.sleep(pause * 2 ** attempt)
    return Said(f"No comment after {ATTEMPTS} attempts: {last}.")
