"""What the tests of published schemas share. Importing it skips the test (77) where Python has no jsonschema.

  checks = SchemaChecks("share", "plans", "plan.schema.json")     # of a script with arguments NADI SOURCE_FOLDER
  checks.expect_valid("an example", value)
  checks.refused_alike(base, wrong, right, ["show", "--plan"])    # by the schema and by the program
  checks.finish("12 examples")"""

import copy
import json
import os
import subprocess
import sys
import tempfile

try:
    from jsonschema import Draft202012Validator
except ImportError:
    print("skipped: Python has no module jsonschema (Debian: python3-jsonschema)")
    sys.exit(77)

kInputError = 3  # exit code


def put(values, /, **members):
    values.update(members)


class SchemaChecks:
    def __init__(self, *path):
        self.nadi, self.source = sys.argv[1:3]
        self.failures = 0
        self.schema = self.read(*path)
        Draft202012Validator.check_schema(self.schema)
        self.validator = Draft202012Validator(self.schema)
        self._work = tempfile.TemporaryDirectory()
        self.folder = self._work.name  # removed at the end
        self._said = []

    def fail(self, text):
        self.failures += 1
        print(f"FAILED: {text}")

    def run(self, *words):
        return subprocess.run([self.nadi, *words], capture_output=True, text=True)

    def read(self, *path):
        with open(os.path.join(self.source, *path)) as file:
            return json.load(file)

    def part(self, name):
        """A validator for one of the schema's own definitions."""
        return Draft202012Validator({**self.schema["$defs"][name], "$defs": self.schema["$defs"]})

    def problems(self, value, validator=None):
        errors = (validator or self.validator).iter_errors(value)
        return [f"{error.json_path}: {error.message}" for error in errors]

    def expect_valid(self, what, value, validator=None):
        for problem in self.problems(value, validator):
            self.fail(f"{what}: {problem}")

    def expect_written(self, what, path, *words):
        """The command writes a valid file."""
        done = self.run(*words)
        if done.returncode != 0:
            self.fail(f"{what}: {done.stderr}")
            return
        with open(path) as file:
            self.expect_valid(what, json.load(file))

    def refused_alike(self, base, wrong, right, command):
        """`wrong` and `right` have a change of `base` by what it is; `command` reads the changed file, whose path
        stands in place of the word "FILE", or at the end."""
        path = os.path.join(self.folder, "changed.json")
        for changes, good in ((wrong, False), (right, True)):
            for what, change in changes.items():
                changed = copy.deepcopy(base)
                change(changed)
                with open(path, "w") as file:
                    json.dump(changed, file)
                words = [path if word == "FILE" else word for word in command]
                problems, read_back = self.problems(changed), self.run(*words, *([] if path in words else [path]))
                if (not problems) != good:
                    self.fail(f"{what}: {'refused' if good else 'valid'} by the schema: {problems}")
                if read_back.returncode != (0 if good else kInputError):
                    self.fail(f"{what}: exit code {read_back.returncode} of the program: {read_back.stderr}")
        self._said.append(f"{len(wrong)} wrong and {len(right)} right changes")

    def finish(self, *said):
        print(", ".join([*said, *self._said, f"{self.failures} failures"]))
        sys.exit(self.failures > 0)
