"""A person's API client for tests that start real processes: the shipped commands make the account and the token."""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from tests.support.processes import Deployment

SCOPES = [
    "schedules:read", "schedules:write", "runs:read", "runs:write", "conversations:read", "conversations:write",
]  # fmt: skip
ENDED = {"succeeded", "empty", "failed", "timed_out", "interrupted", "stopped", "expired", "skipped", "refused",
         "missed", "cancelled"}  # fmt: skip


@dataclass(frozen=True)
class Client:
    """Calls of one person, by token."""

    server: Deployment
    token: str

    def call(self, method: str, path: str, body: Any = None, **headers: str) -> tuple[int, Any]:
        """Return status and decoded body; errors of HTTP are answers. `path` follows `/api/v1`."""
        data = None if body is None else json.dumps(body).encode()
        sent = {"Authorization": f"Bearer {self.token}", "Content-Type": "application/json"}
        sent |= {name.replace("_", "-"): value for name, value in headers.items()}
        request = urllib.request.Request(f"{self.server.address}/api/v1{path}", data, sent, method=method)
        try:
            with urllib.request.urlopen(request, timeout=20) as answer:
                return answer.status, json.loads(answer.read() or b"null")
        except urllib.error.HTTPError as error:
            return error.code, json.loads(error.read() or b"null")

    def get(self, path: str) -> Any:
        """Return the body of a GET that must be answered with 200."""
        status, body = self.call("GET", path)
        assert status == 200, (path, status, body)
        return body

    def post(self, path: str, body: Any = None, **headers: str) -> Any:
        """Return the body of a POST that must succeed."""
        status, answer = self.call("POST", path, body if body is not None else {}, **headers)
        assert status in (200, 201, 202), (path, status, answer)
        return answer

    def schedule(self, **fields: Any) -> dict[str, Any]:
        """Create a schedule on the first agent: once, one second from now, unless `cadence` is given."""
        agent = fields.pop("agent", None) or self.get("/agents")["results"][0]["id"]
        body = {"name": "Test", "prompt": "Say good morning.", "agent": agent, "cadence": in_seconds(1), **fields}
        return self.post("/schedules", body)

    def runs(self, schedule: str) -> list[dict[str, Any]]:
        """Return the newest page of a schedule's runs."""
        return self.get(f"/schedules/{schedule}/runs")["results"]

    def ended(self, schedule: str, *, count: int = 1, seconds: float = 20) -> list[dict[str, Any]]:
        """Return the runs of a schedule once `count` of them have ended."""
        return self.server.wait_until(
            lambda: len(found := [run for run in self.runs(schedule) if run["status"] in ENDED]) >= count and found,
            seconds=seconds,
            what=f"{count} runs of {schedule} have ended",
        )

    def answers(self, conversation: str) -> list[str]:
        """Return the texts of the assistant's messages."""
        messages = self.get(f"/conversations/{conversation}/messages")["results"]
        return [message["text"] for message in messages if message["role"] == "assistant"]


def in_seconds(seconds: float) -> dict[str, str]:
    """Return the cadence "once", on the next whole second that is at least `seconds` from now."""
    at = datetime.now(UTC) + timedelta(seconds=seconds + 1)
    return {"kind": "once", "at": at.strftime("%Y-%m-%dT%H:%M:%SZ")}


def member(server: Deployment, email: str = "alice@example.com", *, operator: bool = False) -> Client:
    """Return the client of a new account with a token for everything but firing."""
    options = ["--operator"] if operator else []
    server.manage("create_user", email, "--password-stdin", *options, stdin="correct horse battery\n")
    scopes = [part for scope in SCOPES for part in ("--scope", scope)]
    return Client(server, server.manage("create_token", email, *scopes).strip())
