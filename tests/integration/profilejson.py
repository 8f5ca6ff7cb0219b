"""Reads the form that `allo convert --to json` writes (doc/formats/json.md), and nothing else."""
import collections
import json

Call = collections.namedtuple("Call", "name file line column address module build_id")


class Profile:
    """A profile with its ids resolved: samples are (frames, values, labels, accesses), where frames
    are listed leaf first and each is a tuple of its calls, the innermost first."""

    def __init__(self, text):
        self.json = json.loads(text)
        assert self.json["allotrope"] == 1
        self.meta = self.json["meta"]
        self.comments = self.json["comments"]
        self.metrics = self.json["metrics"]
        self.samples = [self.sample(sample) for sample in self.json["samples"]]

    def call(self, frame, function, line, column):
        function = self.json["functions"][function] or {}
        module = self.json["modules"][frame.get("module", 0)] or {}
        return Call(function.get("name"), function.get("file"), line, column,
                    frame.get("address", 0), module.get("path"), module.get("build_id"))

    def frame(self, number):
        frame = self.json["frames"][number]
        return tuple(self.call(frame, *line) for line in frame.get("lines", [[0, 0, 0]]))

    def frames(self, stack):
        found = []
        while stack:
            stack, frame = self.json["stacks"][stack]
            found.append(self.frame(frame))
        return tuple(found)

    def labels(self, number):
        return tuple((label["key"], label.get("text", label.get("number")), label.get("unit"))
                     for label in self.json["label_sets"][number] or [])

    def sample(self, sample):
        return (self.frames(sample["stack"]), sample["values"],
                self.labels(sample.get("labels", 0)), tuple(sample.get("accesses", ())))

    def metric(self, name):
        """The index of a metric, of a comparison's the one after the change."""
        return next(i for i, metric in enumerate(self.metrics)
                    if metric["name"] == name and not metric.get("before"))

    def sum(self, name):
        index = self.metric(name)
        return sum(values[index] for _, values, _, _ in self.samples)


def shown(call):
    """The name that allo shows for an unnamed function."""
    if call.name:
        return call.name
    if not call.address and not call.module:
        return "???"
    return f"0x{call.address:x}" + (f" [{call.module.split('/')[-1]}]" if call.module else "")


def names(frames):
    """The names of a stack's calls, the outermost first."""
    return tuple(shown(call) for frame in reversed(frames) for call in reversed(frame))
