"""Tests with limits on their memory."""
import pytest


def parse(text):
    return [int(word) for word in text.split(",") if word]


@pytest.mark.limit_memory("1 MB")
def test_a_long_text_is_parsed_in_little_memory():
    assert len(parse("1,2,3," * 1000)) == 3000


@pytest.mark.limit_leaks("10 KB")
def test_nothing_is_kept():
    parse("1,2,3")


@pytest.mark.limit_allocations(20)
def test_few_blocks_are_needed():
    parse("1,2,3")
