import importlib
import json
import os
import signal
import subprocess
import sys

import pytest


@pytest.fixture
def gangway(tmp_path, monkeypatch):
    module = importlib.reload(importlib.import_module("gangway"))
    monkeypatch.setattr(module, "_FOLDER", str(tmp_path))
    before = signal.getsignal(signal.SIGTERM)
    yield module
    signal.signal(signal.SIGTERM, before)


def said(tmp_path, name):
    return json.loads((tmp_path / name).read_text())


def test_a_checkpoint_is_its_path_and_its_time(gangway, tmp_path):
    gangway.checkpoint(tmp_path / "3.pt")
    report = said(tmp_path, "checkpoint")
    assert report["path"] == str(tmp_path / "3.pt")
    assert report["at"].endswith("Z") and len(report["at"]) == len("2026-01-02T03:04:05Z")
    assert os.listdir(tmp_path) == ["checkpoint"], "nothing half-written is left"


def test_progress_is_what_was_given_and_not_more_than_once_a_second(gangway, tmp_path):
    gangway.progress(epoch=1, loss=0.5)
    gangway.progress(epoch=2, loss=0.4)
    report = said(tmp_path, "progress")
    del report["at"]
    assert report == {"epoch": 1, "loss": 0.5}


def test_the_last_progress_is_written_before_a_checkpoint_and_at_the_end(gangway, tmp_path):
    gangway.progress(epoch=1)
    gangway.progress(epoch=2)
    gangway.checkpoint("2.pt")
    assert said(tmp_path, "progress")["epoch"] == 2
    program = (
        f"import gangway; gangway._FOLDER = {str(tmp_path)!r}\n"
        "for epoch in (3, 4, 5): gangway.progress(epoch=epoch)\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True)
    assert said(tmp_path, "progress")["epoch"] == 5


def test_a_number_that_waits_keeps_nothing_of_its_computation(gangway, tmp_path):
    class Tensor:
        is_detached = False

        def detach(self):
            result = Tensor()
            result.is_detached = True
            return result

        def item(self):
            assert self.is_detached, "its device was waited for, or its graph was kept"
            return 0.5

    gangway.progress(epoch=1)
    gangway.progress(epoch=2, loss=Tensor())
    gangway.checkpoint("2.pt")
    assert said(tmp_path, "progress")["loss"] == 0.5


def test_progress_says_where_this_run_began(gangway, tmp_path, monkeypatch):
    monkeypatch.setattr(gangway, "_SECONDS_BETWEEN", 0.0)
    gangway.progress(epoch=4, step=400, total=1000)
    first = said(tmp_path, "progress")
    assert "since" not in first
    gangway.progress(epoch=5, step=500, total=1000)
    since = said(tmp_path, "progress")["since"]
    assert since.pop("at") <= first["at"]
    assert since == {"epoch": 4, "step": 400}
    gangway.progress(epoch=0, step=1, total=1000)
    assert "since" not in said(tmp_path, "progress"), "what goes back has begun anew"


def test_what_json_has_no_word_for_is_left_out(gangway, tmp_path):
    gangway.progress(epoch=1, loss=float("nan"))
    assert "loss" not in said(tmp_path, "progress")


def test_wrong_types_are_refused(gangway):
    with pytest.raises(TypeError, match="epoch must be a number, not str"):
        gangway.progress(epoch="three")


def test_outside_of_a_cluster_nothing_happens(gangway, monkeypatch):
    monkeypatch.setattr(gangway, "_FOLDER", "/does/not/exist")
    gangway.checkpoint("/x")
    gangway.progress(epoch=1)


def test_a_full_folder_does_not_end_a_training(gangway, monkeypatch, tmp_path):
    def full(**_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(gangway.tempfile, "mkstemp", full)
    gangway.checkpoint("/x")
    assert os.listdir(tmp_path) == []


def test_preemption_calls_back_once_and_then_who_was_there_before(gangway):
    calls = []
    signal.signal(signal.SIGTERM, lambda *_: calls.append("before"))
    gangway.on_preempt(lambda: calls.append("saved"))
    assert not gangway.should_stop()
    os.kill(os.getpid(), signal.SIGTERM)
    os.kill(os.getpid(), signal.SIGTERM)
    assert gangway.should_stop()
    assert calls == ["saved", "before", "before"]


def test_attempt_and_folder_come_from_the_job(gangway, monkeypatch):
    monkeypatch.delenv("GANGWAY_ATTEMPT", raising=False)
    assert gangway.attempt() == 1
    monkeypatch.setenv("GANGWAY_ATTEMPT", "3")
    monkeypatch.setenv("CHECKPOINT_DIR", "/ckpt")
    assert (gangway.attempt(), gangway.checkpoint_dir()) == (3, "/ckpt")


def test_importing_it_changes_nothing():
    code = "import signal, gangway; assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL"
    subprocess.run([sys.executable, "-c", code], check=True)
