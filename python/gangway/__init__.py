"""What a training program tells Gangway: checkpoints, progress, and how it wants to be stopped.

Outside of a Gangway cluster every call does nothing.
"""

import atexit
import datetime
import json
import os
import signal
import tempfile
import threading
import time

__all__ = ["attempt", "checkpoint", "checkpoint_dir", "on_preempt", "progress", "should_stop"]

_FOLDER = "/dev/gangway"
_SECONDS_BETWEEN = 1.0

_lock = threading.Lock()
_last_progress = 0.0
_held_progress = None
_first_progress = None
_stop = threading.Event()
_callbacks = []
_previous_handler = None
_is_handling = False


def checkpoint(path):
    """Says that a checkpoint is complete: work up to here is safe."""
    _write_held_progress()
    _write("checkpoint", {"path": os.fspath(path)})


def progress(epoch=None, step=None, loss=None, total=None):
    """Says how far the training is. Cheap enough for every step: at most one a second is written, and the last one.

    `total` is the number of steps of the whole training, and `step` counts on from epoch to epoch; without `step`, it
    is the number of epochs. How long it will take is told from what was done since the first call.
    """
    global _held_progress, _last_progress
    now = time.monotonic()
    numbers = {"epoch": epoch, "step": step, "total": total, "loss": loss}
    with _lock:
        if _last_progress and now - _last_progress < _SECONDS_BETWEEN:
            # To ask a tensor for its number would wait for its device, and to keep it as it is would keep its graph.
            _held_progress = {key: value.detach() if hasattr(value, "detach") else value for key, value in numbers.items()}
            return
        _last_progress = now
        _held_progress = None
    _write_progress(numbers)


def on_preempt(function):
    """Calls `function()` once, in the main thread, when the program is asked to stop (SIGTERM).

    Must be called from the main thread. The handler that was there before is called afterwards; where there was none
    the program goes on, and should end by itself (see should_stop).
    """
    _listen()
    _callbacks.append(function)
    return function


def should_stop():
    """Whether the program was asked to stop. It then has its grace period to end."""
    if threading.current_thread() is threading.main_thread():
        _listen()
    return _stop.is_set()


def attempt():
    """1, or how often the job was started when it came back after a preemption."""
    try:
        return int(os.environ.get("GANGWAY_ATTEMPT", "1"))
    except ValueError:
        return 1


def checkpoint_dir():
    """Where the job keeps its checkpoints, if it says so."""
    return os.environ.get("CHECKPOINT_DIR")


@atexit.register
def _write_held_progress():
    global _held_progress
    with _lock:
        held, _held_progress = _held_progress, None
    if held is not None:
        _write_progress(held)


def _write_progress(numbers):
    numbers = {key: _number(key, value) for key, value in numbers.items() if value is not None}
    _write("progress", {**numbers, "since": _beginning(numbers)})


def _beginning(numbers):
    """Epoch, step and time of the first report; None for the first itself. One that goes back begins anew."""
    global _first_progress
    place = {key: numbers[key] for key in ("epoch", "step") if numbers.get(key) is not None}
    key = "step" if "step" in place else "epoch"
    if _first_progress and key in _first_progress and key in place and place[key] >= _first_progress[key]:
        return _first_progress
    _first_progress = {**place, "at": _now()} if place else None
    return None


def _number(key, value):
    # Tensors and numpy's numbers have item().
    value = value.item() if hasattr(value, "item") else value
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise TypeError(f"gangway.progress: {key} must be a number, not {type(value).__name__}")
    # JSON has no word for these.
    return value if value == value and abs(value) != float("inf") else None


def _write(name, content):
    if not os.path.isdir(_FOLDER):
        return
    content = {key: value for key, value in content.items() if value is not None}
    content["at"] = _now()
    # Readers see the old file or the new one. A full or lost folder must not end a training.
    try:
        handle, path = tempfile.mkstemp(prefix="." + name, dir=_FOLDER)
        with os.fdopen(handle, "w") as file:
            json.dump(content, file)
        os.chmod(path, 0o644)
        os.replace(path, os.path.join(_FOLDER, name))
    except OSError:
        pass


def _now():
    return datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")


def _listen():
    global _is_handling, _previous_handler
    if _is_handling:
        return
    _previous_handler = signal.signal(signal.SIGTERM, _handle)
    _is_handling = True


def _handle(number, frame):
    is_first = not _stop.is_set()
    _stop.set()
    if is_first:
        for function in _callbacks:
            function()
    if callable(_previous_handler):
        _previous_handler(number, frame)
