"""Tests whose memory CI checks."""


def parse(text):
    return [int(word) for word in text.split(",") if word]


def test_numbers_are_separated_by_commas():
    assert parse("1,2,3") == [1, 2, 3]


def test_an_empty_text_has_no_numbers():
    assert parse("") == []
