"""Which code is the user's own, and not a library's."""

import os
import sysconfig

# What is typed in, given by -c, or a notebook's cell. Other code of no file is made by libraries (attrs, Equinox's modules).
_OF_NO_FILE = ("<stdin>", "<string>", "<ipython-input", "<python-input", "<console>")
_scripts = {}  # file -> whether it is the user's. No code: what torch.compile made is not to live longer because of us
_LIBRARIES = tuple({os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep, "<"} |
                   {sysconfig.get_paths()[name] + os.sep for name in ("stdlib", "platstdlib")})


def is_script(code):
    """Whether this is the user's own code, not a library's. Calls nothing that is written in Python and
    not ours (see steps/compilers)."""
    name = code.co_filename
    known = _scripts.get(name)
    if known is None:
        known = name.startswith(_OF_NO_FILE) or (
            not name.startswith(_LIBRARIES) and "-packages" + os.sep not in name and "(importlib._boot" not in name)
        _scripts[name] = known
    return known


def caller_of_library(frame):
    """"file:line" of the outermost frame of the user's that calls a library, from `frame` outwards; empty if none does."""
    place, calls_library = "", False
    while frame is not None:
        own = is_script(frame.f_code)
        if own and calls_library:
            place = "%s:%d" % (frame.f_code.co_filename, frame.f_lineno)
        calls_library = not own
        frame = frame.f_back
    return place
