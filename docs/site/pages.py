"""The pages that are written from the tool itself: every command from its --help, profile.json from its schema."""
import json
import re
import subprocess

NOTE = "<!-- Written by docs/site/write.py: change the tool, and run it again. -->\n"


def help_of(tool, *words):
    done = subprocess.run([tool, *words, "--help"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=True,
                          universal_newlines=True)
    return done.stdout.replace(tool, "stallcast").rstrip() + "\n"


def command_names(tool):
    """In the order of the help."""
    return re.findall(r"(?m)^  ([a-z]+) ", help_of(tool).split("Options:", 1)[1])


def block(text):
    return "```text\n" + "\n".join(line.rstrip() for line in text.strip("\n").split("\n")) + "\n```\n"


def commands_page(tool):
    parts = [NOTE, "# Every command\n",
             "These are the texts that `stallcast --help` and `stallcast COMMAND --help` print. `PROFILE` is the folder "
             "given to\n`profile -o`, or the `profile.json` in it. What the statuses mean that a command ends with: "
             "[exit statuses](exit-statuses.md).\n", "## stallcast\n", block(help_of(tool))]
    for name in command_names(tool):
        parts += ["## " + name + "\n", block(help_of(tool, name))]
    return "\n".join(parts)


def escaped(text):
    return text.replace("|", "\\|").replace("<", "&lt;").replace("\n", " ")


class Schema:
    """profile.schema.json as rows of tables."""

    def __init__(self, text):
        self.schema = json.loads(text)

    def target(self, node):
        """(name of the definition, node) behind a $ref, also where null is allowed beside it."""
        choices = [one for one in node.get("anyOf", []) if one.get("type") != "null"]
        reference = node.get("$ref") or (choices[0].get("$ref") if len(choices) == 1 else None)
        name = reference.rsplit("/", 1)[1] if reference else None
        return name, self.schema["definitions"][name] if name else node

    def kind(self, node):
        name, _ = self.target(node)
        nullable = any(one.get("type") == "null" for one in node.get("anyOf", []))
        kinds = node.get("type", "object" if "properties" in node else "any")
        kinds = [kinds] if isinstance(kinds, str) else list(kinds)
        if "enum" in node:
            return " or ".join("`%s`" % json.dumps(one) for one in node["enum"])
        if kinds == ["array"] and "items" in node:
            return "list of " + self.kind(node["items"])
        if name:
            return "[%s](#%s)" % (name, name.replace("_", "-")) + (" or null" if nullable else "")
        return " or ".join(kinds)

    def rows(self, node, prefix=""):
        for key, one in node.get("properties", {}).items():
            yield prefix + key, self.kind(one), one.get("description", "")
            inner, path = one, prefix + key
            if one.get("type") == "array" and "items" in one:
                inner, path = one["items"], path + "[]"
            if not self.target(inner)[0] and "properties" in inner:
                yield from self.rows(inner, path + ".")

    def table(self, node):
        lines = ["| key | value | meaning |", "|---|---|---|"]
        lines += ["| `%s` | %s | %s |" % (key, kind, escaped(words)) for key, kind, words in self.rows(node)]
        return "\n".join(lines) + "\n" if len(lines) > 2 else ""

    def sections(self):
        plain = []
        for key, node in self.schema["properties"].items():
            inner = node["items"] if node.get("type") == "array" and "items" in node else node
            _, inner = self.target(inner) if not inner.get("properties") else (None, inner)
            table = self.table(inner) if not self.target(node)[0] else ""
            if not table:
                plain.append((key, self.kind(node), node.get("description", "")))
                continue
            words = node.get("description", "")
            kind = "A list; the keys of one entry." if node.get("type") == "array" else ""
            yield key, " ".join(one for one in (words, kind) if one), table
        lines = ["| key | value | meaning |", "|---|---|---|"]
        lines += ["| `%s` | %s | %s |" % (key, kind, escaped(words)) for key, kind, words in plain]
        yield "Keys without a section", "", "\n".join(lines) + "\n"


def profile_page(schema_text):
    schema = Schema(schema_text)
    parts = [NOTE, "# profile.json\n", escaped(schema.schema["description"]) + "\n",
             "The schema is `analyzer/schema/profile.schema.json`; an installed stallcast has it in "
             "`share/stallcast/schema`.\nKeys are added in later versions, and never renamed. What could not be measured is "
             "`null`, and `absent` says why,\nby the path of its key.\n"]
    for title, words, table in schema.sections():
        parts += ["## " + title + "\n"] + ([escaped(words) + "\n"] if words else []) + [table]
    parts.append("## Kinds of values\n")
    for name, node in schema.schema["definitions"].items():
        parts += ["### " + name.replace("_", "-") + "\n"]
        parts += [escaped(node["description"]) + "\n"] if node.get("description") else []
        parts += [schema.table(node)]
    return "\n".join(part for part in parts if part).rstrip() + "\n"
