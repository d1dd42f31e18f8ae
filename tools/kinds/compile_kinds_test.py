"""Mistakes in kind files are reported with file and line, and the real files have none."""

import pathlib
import shutil
import tempfile
import unittest

from compile_kinds import compile_all
from kind_files import Problems
from pure_crds import as_yaml, own_crds

KINDS = pathlib.Path(__file__).resolve().parents[2] / "kinds"

GOOD = """\
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: tabs.x.io}
spec:
  group: x.io
  names: {kind: Tab, plural: tabs}
  scope: Namespaced
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec: {type: object, properties: {n: {type: integer}}}
    additionalPrinterColumns:
    - {name: N, type: integer, jsonPath: .spec.n}
"""


class CompileKinds(unittest.TestCase):
    def compile(self, text, rules="", definitions="x.A: {type: object, properties: {f: {type: string}}}\n"):
        folder = pathlib.Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, folder)
        (folder / "x").mkdir()
        (folder / "x" / "tab.yaml").write_text(text)
        (folder / "definitions").mkdir()
        (folder / "definitions" / "d.yaml").write_text(definitions)
        (folder / "rules").mkdir()
        (folder / "rules" / "r.yaml").write_text(rules or "{}\n")
        problems = Problems()
        document = compile_all(folder, problems)
        return document, [message.removeprefix(str(folder) + "/") for message in problems.messages]

    def test_the_files_of_the_project_have_no_mistakes(self):
        problems = Problems()
        document = compile_all(KINDS, problems)
        self.assertEqual(problems.messages, [])
        self.assertIn("io.k8s.api.core.v1.PodSpec", document["definitions"])

    def test_our_own_kinds_become_crds_without_our_dialect(self):
        problems = Problems()
        crds = own_crds(KINDS, problems)
        self.assertEqual(problems.messages, [])
        names = [crd["metadata"]["name"] for crd in crds]
        self.assertEqual(sorted(names), [
            "allotments.gangway.dev", "configurations.gangway.dev", "podgroups.scheduling.x-k8s.io",
            "requeuedpods.gangway.dev", "usagerecords.gangway.dev",
        ])  # fmt: skip
        text = as_yaml(crds)
        self.assertNotIn("x-gangway", text)
        self.assertNotIn("$ref", text)
        self.assertIn("x-kubernetes-int-or-string", text)

    def test_a_crd_has_no_columns_that_need_code(self):
        columns = GOOD + "    - {name: F, type: integer, x-gangway-column: age}\n"
        columns += "    - {name: Name, type: string, jsonPath: .metadata.name}\n"
        crds, problems = self.crds(columns)
        self.assertEqual(problems, [])
        self.assertEqual([c["name"] for c in crds[0]["spec"]["versions"][0]["additionalPrinterColumns"]], ["N"])

    def test_a_crd_refers_to_no_shared_types(self):
        _, problems = self.crds(GOOD.replace("{n: {type: integer}}", "{n: {$ref: '#/definitions/x.A'}}"))
        self.assertEqual(problems, [
            "x/tab.yaml:16: error: a kind that is installed as a CRD must not use $ref, but for ObjectMeta"
        ])  # fmt: skip

    def crds(self, text):
        folder = pathlib.Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, folder)
        (folder / "x").mkdir()
        (folder / "x" / "tab.yaml").write_text(text)
        problems = Problems()
        crds = own_crds(folder, problems)
        return crds, [message.removeprefix(str(folder) + "/") for message in problems.messages]

    def test_a_kind(self):
        document, problems = self.compile(GOOD)
        self.assertEqual(problems, [])
        kind = document["kinds"][0]
        self.assertEqual((kind["dialect"], kind["storageName"], kind["singular"]), ("crd", "tabs.x.io", "tab"))
        self.assertEqual(kind["versions"][0]["columns"][0]["jsonPath"], ".spec.n")

    def test_mistakes_name_their_line(self):
        cases = [
            ("scope: Namespaced", "scope: Everywhere", "x/tab.yaml:7: error: spec.scope is Namespaced or Cluster"),
            (".spec.n}", ".spec.m}", "x/tab.yaml:18: error: .spec.m is not a field of the kind"),
            ("type: integer}}", "typ: integer}}", "x/tab.yaml:16: error: schema.spec.n: unknown keyword typ"),
            ("{n: {type: integer}}", "{n: {$ref: '#/definitions/x.B'}}",
             "x/tab.yaml:16: error: schema.spec.n: there is no definition #/definitions/x.B"),
            ("storage: true", "storage: false", "x/tab.yaml:8: error: one version must have storage: true, 0 have"),
            ("name: tabs.x.io", "name: tab.x.io", "x/tab.yaml:3: error: metadata.name must be tabs.x.io"),
            ("served: true", "name: v2", "x/tab.yaml:10: error: name is given twice (first in line 9)"),
        ]  # fmt: skip
        for old, new, want in cases:
            with self.subTest(want):
                self.assertIn(want, self.compile(GOOD.replace(old, new))[1])

    def test_what_a_path_has_in_brackets_is_not_looked_at(self):
        conditions = "{n: {type: array, items: {type: object, properties: {type: {type: string}}}}}"
        listed = GOOD.replace("{n: {type: integer}}", conditions)
        for path, want in [('[?(@.type=="A.b")].type', []), ('[?(@.type=="A.b")].typo', [18])]:
            problems = self.compile(listed.replace("jsonPath: .spec.n}", f"jsonPath: '.spec.n{path}'}}"))[1]
            self.assertEqual([int(problem.split(":")[1]) for problem in problems], want, problems)

    def test_rules_and_their_mistakes(self):
        document, problems = self.compile(GOOD, "x.A:\n  required: [f]\n  fields:\n    f: {default: x}\n")
        self.assertEqual(problems, [])
        self.assertEqual(document["definitions"]["x.A"]["properties"]["f"]["default"], "x")
        _, problems = self.compile(GOOD, "x.A:\n  fields:\n    g: {default: x}\n")
        self.assertEqual(problems, ["rules/r.yaml:3: error: x.A has no field g"])

    def test_protobuf_numbers_move_to_the_type(self):
        definitions = compile_all(KINDS, Problems())["definitions"]
        volume = definitions["io.k8s.api.core.v1.Volume"]
        self.assertEqual(volume["x-gangway-protobuf"]["name"], 1)
        self.assertEqual(volume["x-gangway-protobuf"]["emptyDir"], [2, 2])
        self.assertNotIn("x-gangway-protobuf", volume["properties"]["name"])
        pod = definitions["io.k8s.api.core.v1.Pod"]
        self.assertEqual(pod["x-gangway-protobuf"], {"metadata": 1, "spec": 2, "status": 3})

    def test_a_protobuf_number_used_twice(self):
        twice = "x.A:\n  fields:\n    f: {x-gangway-protobuf: 1}\n    g: {x-gangway-protobuf: 1}\n"
        both = "x.A: {type: object, properties: {f: {type: string}, g: {type: string}}}\n"
        _, problems = self.compile(GOOD, twice, both)
        self.assertEqual(problems, ["definitions/d.yaml:1: error: x.A.g: number 1 is used twice"])


if __name__ == "__main__":
    unittest.main()
