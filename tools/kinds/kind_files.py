"""Reads the YAML under kinds/ and remembers where everything was written, so that a mistake has a file and a line."""

import json
import pathlib

import yaml

FOLDERS_OF_PARTS = ("bootstrap", "definitions", "rules", "texts")


class Mapping(dict):
    """A mapping that knows the line of each of its keys."""

    def __init__(self, path, line):
        super().__init__()
        self.path, self.line, self.lines = path, line, {}

    def where(self, key=None):
        return f"{self.path}:{self.lines.get(key, self.line)}"


class Problems:
    """Collects all mistakes: a build that fails shows everything there is to fix."""

    def __init__(self):
        self.messages = []

    def add(self, where, message):
        self.messages.append(f"{where}: error: {message}")


def build(node, path, problems):
    if isinstance(node, yaml.MappingNode):
        out = Mapping(path, node.start_mark.line + 1)
        for key_node, value_node in node.value:
            key = key_node.value
            line = key_node.start_mark.line + 1
            if key in out:
                problems.add(f"{path}:{line}", f"{key} is given twice (first in line {out.lines[key]})")
            out[key] = build(value_node, path, problems)
            out.lines[key] = line
        return out
    if isinstance(node, yaml.SequenceNode):
        return [build(item, path, problems) for item in node.value]
    return yaml.SafeLoader.construct_object(yaml.SafeLoader(""), node)


def load(path, problems):
    try:
        node = yaml.compose(path.read_text(), Loader=yaml.SafeLoader)
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 1
        problems.add(f"{path}:{line}", f"not YAML: {error.problem}")
        return Mapping(path, 1)
    if not isinstance(node, yaml.MappingNode):
        problems.add(f"{path}:1", "a mapping is expected")
        return Mapping(path, 1)
    return build(node, path, problems)


def files_of(kinds, part):
    return sorted((kinds / part).glob("*.yaml"))


def kind_files(kinds):
    return sorted(p for p in pathlib.Path(kinds).glob("*/*.yaml") if p.parent.name not in FOLDERS_OF_PARTS)


def compact(value):
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)
