"""A service that caches replies and forgets to limit its cache: python3 cache.py [REQUESTS]"""
import sys

CACHE = {}


class Reply:
    def __init__(self, number):
        self.title = f"reply {number}"
        self.body = self.title * 50


def render(number):
    return Reply(number)


def answer(number):
    if number not in CACHE:
        CACHE[number] = render(number)
    return CACHE[number]


def main():
    requests = int(sys.argv[1]) if len(sys.argv) > 1 else 3000
    for number in range(requests):
        answer(number)
    print(f"{len(CACHE)} replies in the cache")


main()
