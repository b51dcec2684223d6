"""`manage.py worker` that stands still the first time a labelled point of a turn's life is reached.

    python -m tests.support.paused_worker LABEL FILE [worker's options]

The process that reaches LABEL first writes its number into FILE and waits to be killed; every later one passes.
"""

from __future__ import annotations

import os
import signal
import sys


def main() -> None:
    label, file, *options = sys.argv[1:]
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    import django

    django.setup()
    from django.core.management import call_command

    from core import points

    def stand_still(at: str, about: object) -> None:
        if at != label:
            return
        try:
            handle = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL)
        except FileExistsError:
            return
        os.write(handle, str(os.getpid()).encode())
        os.close(handle)
        while True:
            signal.pause() if _is_main_thread() else _forever()

    points.watch(stand_still)
    call_command("worker", *options)


def _is_main_thread() -> bool:
    import threading

    return threading.current_thread() is threading.main_thread()


def _forever() -> None:
    import threading

    threading.Event().wait()


if __name__ == "__main__":
    main()
