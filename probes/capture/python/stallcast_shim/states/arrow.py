"""Columns of Arrow tables whose entries look like names of files, as Hugging Face's datasets keep them: a text, or an image
or a sound that is {"bytes": null, "path": ...}. Tables may lie in mapped files: of each column of texts three entries are
looked at, and of those that are no names nothing else is.
"""

import bisect
import os
import re

_MOST_COLUMNS = 8
_FILE = re.compile(r"[^\n\r\t]{1,1000}\.[A-Za-z]\w{0,4}")  # ends like one


def is_table(value):
    kind = type(value)
    return kind.__name__ == "Table" and kind.__module__.partition(".")[0] == "pyarrow"


def columns(table):
    """[(number, function from a row to its entry), ...] of the columns of names."""
    found = []
    rows = table.num_rows
    for number, column in enumerate(table.columns[:_MOST_COLUMNS] if rows else ()):
        entry = _entry_of(column)
        if entry is not None and all(_is_name(entry(row)) for row in (0, rows // 2, rows - 1)):
            found.append((number, entry))
    return found


def mapping_of(attributes, own_dictionary):
    """Of a data set that is a selection of a table's rows: function from its index to the row. None of what is another
    thing, or goes through the rows as they are. `own_dictionary`: gives the attributes of an object, and runs nothing of it."""
    indices = own_dictionary(attributes.get("_indices")).get("table")
    if not is_table(indices) or indices.num_columns != 1:
        return None
    if not is_table(own_dictionary(attributes.get("_data")).get("table")):
        return None
    column = indices.column(0)
    return lambda index: column[index].as_py()


def _entry_of(column):
    kind = str(column.type)
    if kind in ("string", "large_string"):
        return lambda row: column[row].as_py()
    if not kind.startswith("struct<") or column.type.get_field_index("path") < 0:
        return None
    # Of a struct's entry all is read, an image's bytes, too; of its fields, one is.
    parts = [chunk for chunk in column.chunks if len(chunk)]
    paths = [part.field("path") for part in parts]
    if not paths or str(paths[0].type) not in ("string", "large_string"):
        return None
    if column.type.get_field_index("bytes") >= 0 and any(part.field("bytes").null_count < len(part) for part in parts[:1]):
        return None  # they lie in the table itself
    ends = []
    for part in parts:
        ends.append(len(part) + (ends[-1] if ends else 0))

    def entry(row):
        number = bisect.bisect_right(ends, row)
        return paths[number][row - (ends[number - 1] if number else 0)].as_py()

    return entry


def _is_name(entry):
    """Whether this is a path, or a name of a file without blanks."""
    if type(entry) is not str or _FILE.fullmatch(entry) is None:
        return False
    return os.sep in entry or " " not in entry
