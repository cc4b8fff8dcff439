"""The configuration of other clients is read as it is; a mistake is one clear message that quotes no value."""

from __future__ import annotations

import json
import logging
from pathlib import Path
from typing import Any

import pytest

from codemode.mcp import McpConfigError, load_config
from codemode.mcp._secrets import REPLACEMENT, RedactingFilter, public_url, redactor_for

SECRET = "s3cr3t-value-4711"


def one(**entry: Any) -> dict[str, Any]:
    return {"mcpServers": {"it": entry}}


def test_a_file_with_both_kinds_of_server_is_read_in_order(tmp_path: Path) -> None:
    path = tmp_path / "mcp.json"
    servers = {
        "b": {"command": "npx", "args": ["-y", "x"], "env": {"PORT": 80, "LOUD": True}, "cwd": "/", "timeout": 5},
        "a": {"type": "http", "url": "https://example.org/mcp", "headers": {"X": "y"}, "disabled": True},
    }
    path.write_text(json.dumps({"mcpServers": servers, "theme": "dark"}), encoding="utf-8")
    configs = load_config(path)
    assert list(configs) == ["b", "a"]
    assert configs["b"].env == {"PORT": "80", "LOUD": "true"}
    assert (configs["b"].transport, configs["b"].timeout, configs["b"].endpoint) == ("stdio", 5.0, "npx")
    assert (configs["a"].transport, configs["a"].disabled) == ("http", True)


def test_variables_of_the_environment_are_put_in(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CODEMODE_TEST_TOKEN", SECRET)
    monkeypatch.delenv("CODEMODE_TEST_NONE", raising=False)
    config = load_config(
        one(
            url="https://example.org/${CODEMODE_TEST_NONE:-mcp}",
            headers={"Authorization": "Bearer ${CODEMODE_TEST_TOKEN}"},
        )
    )["it"]
    assert config.headers == {"Authorization": f"Bearer {SECRET}"}
    assert config.url == "https://example.org/mcp"
    with pytest.raises(McpConfigError, match="CODEMODE_TEST_NONE is not set"):
        load_config(one(command="${CODEMODE_TEST_NONE}"))


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ({}, "mcpServers"),
        ({"mcpServers": []}, "mcpServers"),
        (one(), "either `command`"),
        (one(command="x", url="https://example.org"), "either `command`"),
        (one(url="example.org"), "http://"),
        (one(command="x", args="-y"), "`args`"),
        (one(command="x", timeout=0), "`timeout`"),
        (one(command="x", timeout=float("inf")), "`timeout`"),
        (one(command="x", disable=True), "did you mean `disabled`"),
        (one(url="https://example.org", header={}), "did you mean `headers`"),
        (one(command="x", env={"A": [SECRET]}), "`env.A`"),
        (one(type="sse", url="https://example.org"), "SSE"),
        (one(type="http", command="x"), "`type`"),
        ({"mcpServers": {"it": "npx"}}, "expected an object"),
        ({"mcpServers": {"": {"command": "x"}}}, "needs a name"),
    ],
)
def test_a_mistake_is_one_message_that_names_the_place(content: dict[str, Any], words: str) -> None:
    with pytest.raises(McpConfigError) as caught:
        load_config(content)
    assert words in str(caught.value)
    assert SECRET not in str(caught.value)
    assert "\n" not in str(caught.value)


def test_all_mistakes_come_at_once() -> None:
    with pytest.raises(McpConfigError) as caught:
        load_config({"mcpServers": {"one": {}, "two": {"command": 5}}})
    assert "'one'" in str(caught.value)
    assert "'two'" in str(caught.value)


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    with pytest.raises(McpConfigError, match="no such file"):
        load_config(tmp_path / "none.json")
    bad = tmp_path / "bad.json"
    bad.write_text("{,}", encoding="utf-8")
    with pytest.raises(McpConfigError, match="is not JSON"):
        load_config(bad)


def test_the_representation_of_a_configuration_shows_no_secret() -> None:
    config = load_config(one(command="x", args=[f"--key={SECRET}"], env={"KEY": SECRET}))["it"]
    assert SECRET not in repr(config)


def redactor(**entry: Any) -> Any:
    return redactor_for(load_config(one(**entry)).values())


@pytest.mark.parametrize(
    "entry",
    [
        {"command": "x", "env": {"API_KEY": SECRET}},
        {"command": "x", "env": {"ANYTHING": SECRET}},
        {"url": "https://example.org", "headers": {"Authorization": f"Bearer {SECRET}"}},
        {"url": "https://example.org", "headers": {"X-Team": SECRET}},
        {"url": f"https://user:{SECRET}@example.org/mcp"},
        {"command": "x", "env": {"DATABASE": f"postgres://me:{SECRET}@db/shop"}},
        {"command": "x", "args": ["--token", SECRET]},
        {"command": "x", "args": [f"--api-key={SECRET}", "serve"]},
        {"url": f"https://example.org/mcp?key={SECRET}"},
    ],
)
def test_a_configured_secret_is_taken_out_of_texts_and_values(entry: dict[str, Any]) -> None:
    clean = redactor(**entry)
    assert clean.text(f"denied for {SECRET}!") == f"denied for {REPLACEMENT}!"
    assert SECRET not in str(clean.value({"a": [f"x {SECRET} y", 1, None], SECRET: True}))


def test_plain_settings_are_not_taken_out() -> None:
    clean = redactor(
        command="x", env={"DEBUG": "true", "PORT": "8080", "ROOT": "/srv/data", "LANG": "C", "MODE": "production"}
    )
    said = "true 8080 /srv/data C production"
    assert redactor(command="npx", args=["-y", "server-thing", "--root", "documents"]).text(
        "server-thing documents"
    ) == ("server-thing documents")
    assert clean.text(said) == said


def test_a_value_that_is_no_secret_by_name_or_look_stays_in_data_but_not_in_messages() -> None:
    clean = redactor(command="x", env={"DATABASE": "customers"})
    assert clean.value(["customers"]) == ["customers"]
    assert clean.text("no table in customers") == f"no table in {REPLACEMENT}"


def test_log_records_are_cleaned_with_their_tracebacks() -> None:
    seen: list[str] = []
    handler = logging.Handler()
    handler.emit = lambda record: seen.append(logging.Formatter().format(record))  # type: ignore[method-assign]
    logger = logging.getLogger("codemode.test.redaction")
    logger.propagate = False
    clean_filter = RedactingFilter(redactor(command="x", env={"API_KEY": SECRET}))
    logger.addHandler(handler)
    logger.addFilter(clean_filter)
    try:
        try:
            raise ValueError(f"bad {SECRET}")
        except ValueError:
            logger.exception("failed with %s", SECRET)
    finally:
        logger.removeFilter(clean_filter)
        logger.removeHandler(handler)
    assert len(seen) == 1
    assert SECRET not in seen[0]
    assert "ValueError" in seen[0]


def test_an_address_is_shown_without_what_may_be_secret() -> None:
    assert public_url("https://user:pw@example.org:8443/mcp?key=1#x") == "https://example.org:8443/mcp"
    assert public_url("http://[::1]:80/") == "http://[::1]:80/"
