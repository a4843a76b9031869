"""Columns of Arrow tables whose entries look like names of files, as Hugging Face's datasets keep them (a text, or an image
or a sound that is {"bytes": ..., "path": ...}). Tables may lie in mapped files: of columns of other things nothing is read.
"""

import os
import re

_MOST_COLUMNS = 8
_FILE = re.compile(r"[^\n\r\t]{1,1000}\.\w{1,5}")  # ends like one


def is_table(value):
    kind = type(value)
    return kind.__name__ == "Table" and kind.__module__.partition(".")[0] == "pyarrow"


def columns(table):
    """Functions from a row to its entry. The first row's tells whether entries are names."""
    found = []
    for column in table.columns[:_MOST_COLUMNS] if table.num_rows else ():
        entry = _entry_of(column)
        if entry is not None and _is_name(entry(0)):
            found.append(entry)
    return found


def mapping_of(attributes):
    """Of a data set that is a selection of a table's rows: function from its index to the row. None of what is another
    thing, or goes through the rows as they are."""
    indices = getattr(attributes.get("_indices"), "table", None)
    if not is_table(indices) or indices.num_columns != 1 or not is_table(getattr(attributes.get("_data"), "table", None)):
        return None
    column = indices.column(0)
    return lambda index: column[index].as_py()


def _entry_of(column):
    kind = str(column.type)
    if kind in ("string", "large_string"):
        return lambda row: column[row].as_py()
    if kind.startswith("struct<") and column.type.get_field_index("path") >= 0:
        return lambda row: column[row]["path"].as_py()
    return None


def _is_name(entry):
    return type(entry) is str and (entry.startswith(os.sep) or _FILE.fullmatch(entry) is not None)
