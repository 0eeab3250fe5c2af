"""The command `napkin`."""

import os
import sys


def main() -> int:
    import signal

    from . import _core

    # As of a program without Python: an interrupt and a closed pipe end it.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    return _core.program([os.fsencode(word) for word in sys.argv[1:]])


if __name__ == "__main__":
    sys.exit(main())
