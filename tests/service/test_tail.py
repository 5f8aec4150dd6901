from __future__ import annotations

from inturn.service.tail import Tail, tail
from tests.service.scene import Scene


def test_both_streams_come_in_the_order_seen(scene: Scene) -> None:
    job = scene.submit()
    assert tail(scene.context, scene.job(job), 100) == Tail(job)
    writer = scene.start(job)
    writer.write(out=b"one\n")
    writer.write(err=b"two\n")
    writer.write(out=b"three\n")
    found = tail(scene.context, scene.job(job), 100)
    assert (found.run, found.data, found.cut) == (1, b"one\ntwo\nthree\n", False)
    writer.close()


def test_only_the_end_is_read(scene: Scene) -> None:
    job = scene.submit()
    writer = scene.start(job)
    writer.write(out=b"x" * 1000 + b"end")
    found = tail(scene.context, scene.job(job), 5)
    assert (found.data, found.cut) == (b"xxend", True)
    writer.close()


def test_what_has_not_grown_is_not_read_again(scene: Scene) -> None:
    job = scene.submit()
    writer = scene.start(job)
    writer.write(out=b"one\n")
    found = tail(scene.context, scene.job(job), 100)
    assert tail(scene.context, scene.job(job), 100, found) is found
    writer.write(out=b"two\n")
    assert tail(scene.context, scene.job(job), 100, found).data == b"one\ntwo\n"
    writer.close()
