from __future__ import annotations

import os
import resource
from collections.abc import Iterator

import pytest

from inturn.host import descriptors, logs
from inturn.host.logs import INDEX, Sampler


@pytest.fixture(autouse=True)
def limited() -> Iterator[int]:
    """The soft limit, which may be changed and is put back."""
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (256, before[1]))
    descriptors._limit = 0
    yield 256
    resource.setrlimit(resource.RLIMIT_NOFILE, before)
    descriptors._limit = 0


def test_the_last_numbers_that_there_are_are_kept(limited: int) -> None:
    first = limited - descriptors.KEPT
    assert [fd for fd in range(limited) if descriptors.is_among_the_last(fd)] == list(range(first, limited))


def test_a_limit_that_was_raised_or_lowered_meanwhile_is_heeded_where_it_matters(limited: int) -> None:
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    assert descriptors.is_among_the_last(limited - 1)
    resource.setrlimit(resource.RLIMIT_NOFILE, (2 * limited, hard))
    assert not descriptors.is_among_the_last(limited - 1)
    assert descriptors.is_among_the_last(2 * limited - 1)


def test_without_a_limit_none_is_among_the_last() -> None:
    if resource.getrlimit(resource.RLIMIT_NOFILE)[1] != resource.RLIM_INFINITY:
        resource.setrlimit(resource.RLIMIT_NOFILE, (resource.getrlimit(resource.RLIMIT_NOFILE)[1],) * 2)
    assert not descriptors.is_among_the_last(300)


def test_an_index_is_given_up_rather_than_one_of_the_last_descriptors(tmp_path: object, limited: int) -> None:
    stem = f"{tmp_path}/7.1"
    streams = logs.open_streams(stem, merge=False)
    taken: list[int] = []
    try:
        while not taken or taken[-1] < limited - descriptors.KEPT - 1:
            taken.append(os.open("/dev/null", os.O_RDONLY))
        sampler = Sampler(stem, streams.ids)
        os.write(streams.out, b"hi")
        sampler.sample(1)
        assert os.path.getsize(stem + INDEX) == 0
        os.close(taken.pop())
        sampler.sample(2)
        assert os.path.getsize(stem + INDEX) == logs.RECORD
        sampler.close(3)
    finally:
        for fd in taken:
            os.close(fd)
        streams.close()
