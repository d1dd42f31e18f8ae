"""Runs one case on one server and keeps what it answered."""

from __future__ import annotations

import itertools
import json
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any
from urllib.parse import urlencode

import yaml

from ..harness.endpoint import Endpoint
from ..harness.http import Client, Response
from ..harness.processes import wait_for
from .cases import Case, Step, at_path, merge, substitute

PATCH_TYPES = {
    "json": "application/json-patch+json",
    "merge": "application/merge-patch+json",
    "strategic": "application/strategic-merge-patch+json",
    "apply": "application/apply-patch+yaml",
}
_META = "v=v1;g=meta.k8s.io"
ACCEPTS = {
    "table": f"application/json;as=Table;{_META}",
    "partial": f"application/json;as=PartialObjectMetadata;{_META}",
    "partials": f"application/json;as=PartialObjectMetadataList;{_META}",
    "aggregated": "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList",
}
# Over the limit of a request's body, as a document that would be valid if it were smaller.
LARGE = '{"metadata":{"name":"large"},"data":{"x":"' + "x" * (4 << 20) + '"}}'


@dataclass(frozen=True)
class Answer:
    """One step's outcome as the server gave it, with the body decoded where it is JSON."""

    status: int
    content_type: str
    warnings: list[str]
    body: Any


@dataclass
class Run:
    """A case in progress on one server. `answers` has one entry per finished step."""

    case: Case
    endpoint: Endpoint
    admin: Client
    # How long a step with `until` repeats before its answer is taken as it is.
    patience: float
    answers: list[Answer] = field(default_factory=list)
    _accounts: dict[str, Client] = field(default_factory=dict)

    def __post_init__(self) -> None:
        identity = {"id": self.case.id, "ns": f"ns-{self.case.id}", "large": LARGE}
        self.variables: dict[str, Any] = dict(self.case.variables) | identity

    def prepare(self) -> None:
        if self.case.needs_namespace:
            self._make_namespace()
        for account in self.case.accounts:
            self._accounts[account] = Client(self.endpoint, token=self._token_of(account))
        self._accounts["anonymous"] = Client(self.endpoint, anonymous=True)
        self._accounts["stranger"] = Client(self.endpoint, token="not-a-token")

    def _make_namespace(self) -> None:
        namespace = self.variables["ns"]
        body = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}}
        self.admin.must("POST", "/api/v1/namespaces", body)
        for made in ("serviceaccounts/default", "configmaps/kube-root-ca.crt"):
            path = f"/api/v1/namespaces/{namespace}/{made}"
            wait_for(path, partial(self._is_there, path), pause=0.005)

    def _is_there(self, path: str) -> bool:
        return self.admin.call("GET", path).status == 200

    def _token_of(self, account: str) -> str:
        path = f"/api/v1/namespaces/{self.variables['ns']}/serviceaccounts"
        self.admin.must("POST", path, {"metadata": {"name": account}})
        request = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}}
        return str(self.admin.must("POST", f"{path}/{account}/token", request)["status"]["token"])

    def do(self, step: Step) -> Answer:
        client = self._accounts[step.as_] if step.as_ else self.admin
        attempt = self._watch if step.method == "WATCH" else self._request
        deadline = time.monotonic() + self.patience
        while True:
            answer = attempt(client, step)
            if step.until is None or _holds(step.until, answer) or time.monotonic() > deadline:
                break
            time.sleep(0.02)
        for name, path in step.save.items():
            self.variables[name] = at_path(answer.body, path)
        self.answers.append(answer)
        return answer

    def _path(self, step: Step) -> str:
        path = str(substitute(step.path, self.variables))
        query = substitute(dict(step.query), self.variables)
        if not query:
            return path
        return path + ("&" if "?" in path else "?") + urlencode(query, doseq=True)

    def _headers(self, step: Step) -> dict[str, str]:
        headers: dict[str, str] = {}
        if step.body is not None or step.text is not None or step.type:
            headers["Content-Type"] = PATCH_TYPES.get(step.type or "", step.type or "application/json")
        if step.accept:
            headers["Accept"] = ACCEPTS.get(step.accept, step.accept)
        headers.update(substitute(dict(step.headers), self.variables))
        return headers

    def _content(self, step: Step) -> bytes | None:
        if step.text is not None:
            return str(substitute(step.text, self.variables)).encode()
        if step.body is None:
            return None
        body = substitute(step.body, self.variables)
        if step.with_ is not None:
            body = merge(body, substitute(step.with_, self.variables))
        # Compact, as Go writes it: the real server compares what it keeps as bytes (ControllerRevision.data) as bytes.
        return json.dumps(body, separators=(",", ":")).encode()

    def _request(self, client: Client, step: Step) -> Answer:
        response = client.request(step.method, self._path(step), self._content(step), self._headers(step))
        return _answer(response, _decoded(response))

    def _watch(self, client: Client, step: Step) -> Answer:
        response, stream = client.stream(self._path(step), step.seconds, self._headers(step))
        if response.status != 200:
            return _answer(response, _decoded(response))
        wanted = (event for event in stream if step.bookmarks or event.get("type") != "BOOKMARK")
        events = list(itertools.islice(wanted, step.events) if step.events else wanted)
        return _answer(response, {"events": events})

    def clean_up(self) -> None:
        """Only what would disturb other cases: emptying a namespace costs more than the case itself."""
        for step in self.case.cleanup:
            self._request(self.admin, step)
        for client in self._accounts.values():
            client.close()


def _answer(response: Response, body: Any) -> Answer:
    return Answer(response.status, response.headers.get("Content-Type", ""), response.warnings, body)


def _decoded(response: Response) -> Any:
    try:
        if response.headers.get("Content-Type", "").startswith("application/yaml"):
            return yaml.safe_load(response.content)
        return response.json()
    except ValueError:
        return response.content.decode(errors="replace")


def _holds(condition: Mapping[str, Any], answer: Answer) -> bool:
    for key, wanted in condition.items():
        if key == "status":
            found: Any = answer.status
        elif key == "absent":
            if at_path(answer.body, wanted) is not None:
                return False
            continue
        else:
            found = at_path(answer.body, key)
        if found != wanted:
            return False
    return True
