"""A line -> the keys in it that are known by their form: vendors' prefixes, web tokens, links with passwords.

The forms here are certain enough to need no word beside them. detect-secrets brings more; it is asked
late, and only about lines that hold something long enough to be a key.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

from memtool.secrets import values

if TYPE_CHECKING:
    from detect_secrets.plugins.base import BasePlugin


class Span(NamedTuple):
    """A likely secret in a line: characters from *start* to before *end*."""

    start: int
    end: int
    kind: str


_EDGE = r"(?<![A-Za-z0-9])"

#: Kind, then what its keys look like; a group named `value` is the secret where that is not all.
_FORMS = {
    "AWS key": r"(?:A3T[A-Z0-9]|ABIA|ACCA|AKIA|ASIA)[A-Z0-9]{16}",
    "Google key": r"AIza[\w-]{35}|ya29\.[\w-]{20,}|GOCSPX-[\w-]{20,}|1//0[\w-]{30,}",
    "Azure key": r"(?:Account|SharedAccess)Key=(?P<value>[\w+/=-]{30,})|[A-Za-z0-9]{3}\dQ~[\w~.-]{31,34}"
    r"|[?&;]sig=(?P<sig>[\w%+/=-]{30,})",
    "GitHub token": r"gh[pousr]_\w{30,}|github_pat_\w{22,}",
    "GitLab token": r"gl(?:pat|dt|ft|soat|rt|cbt|imt|ptt|agent|oas|ffct)-[\w-]{20,}|GR1348941[\w-]{20,}",
    "Slack token": r"xox[a-z]-[\w-]{10,}|xapp-\d-[\w-]{10,}|hooks\.slack\.com/(?:services|workflows|triggers)/[\w/]{20,}",
    "Stripe key": r"[srp]k_(?:live|test)_[A-Za-z0-9]{16,}|whsec_[A-Za-z0-9+/=]{20,}",
    "Anthropic key": r"sk-ant-[\w-]{16,}",
    "OpenAI key": r"sk-(?:proj-|svcacct-|admin-|or-v1-)?[A-Za-z0-9][\w-]{18,}",
    "npm token": r"npm_[A-Za-z0-9]{30,}|_authToken\s*=\s*(?P<value>[^\s\"'$]{16,})|_auth(?:=|\s*=\s*)(?P<auth>[\w+/=]{12,})",
    "PyPI token": r"pypi-[\w-]{32,}",
    "SendGrid key": r"SG\.[\w-]{16,}\.[\w-]{16,}",
    "Twilio key": r"(?:AC|SK)[0-9a-f]{32}(?:\s*[/:,]\s*[0-9a-f]{32})?",
    "Telegram token": r"\d{8,10}:AA[\w-]{32,34}|\d{8,10}:[\w-]{35}",
    "Discord token": r"[MNO][\w-]{23,25}\.[\w-]{6}\.[\w-]{27,38}|discord(?:app)?\.com/api/webhooks/\d+/[\w-]{30,}",
    "Hugging Face token": r"hf_[A-Za-z]{30,}|hf_[A-Za-z0-9]{30,}",
    "web token": r"eyJ[\w=-]{8,}\.[\w=-]{8,}(?:\.[\w=+/-]*)?",
    "cloud token": r"do[opr]_v1_[a-f0-9]{32,}|dapi[a-f0-9]{32}|dckr_pat_[\w-]{20,}|hv[sbr]\.[\w-]{20,}"
    r"|s\.[A-Za-z0-9]{24}|[A-Za-z0-9]{14}\.atlasv1\.[\w-]{40,}|dp\.(?:pt|st|ct|sa|scim|audit)\.[\w.-]{30,}"
    r"|pul-[a-f0-9]{32,}|pscale_\w+_[\w.-]{20,}|sbp_[a-f0-9]{30,}|fo1_[\w-]{30,}|FlyV1 [\w,+/=-]{30,}|HRKU-[\w-]{30,}"
    r"|v1\.0-[a-f0-9]{24}-[a-f0-9]{100,}|LTAI[A-Za-z0-9]{12,20}|AKID[A-Za-z0-9]{13,40}|tskey-[\w-]{16,}",
    "service token": r"ATATT3[\w=-]{30,}|ATBB[A-Za-z0-9]{24,}|ATCTT3[\w=-]{30,}|lin_api_\w{30,}|ntn_\w{30,}|secret_[A-Za-z0-9]{32,}"
    r"|figd_[\w-]{30,}|pat[A-Za-z0-9]{14}\.[a-f0-9]{64}|PMAK-[a-f0-9-]{30,}|shp(?:at|ca|pa|ss|tka)_[a-fA-F0-9]{32}"
    r"|sq0[a-z]{3}-[\w-]{22,}|EAAA[\w-]{56,}|key-[0-9a-z]{32}|[0-9a-f]{32}-us\d{1,2}|NRAK-[A-Z0-9]{27}|NRII-[\w-]{32}"
    r"|gl(?:sa|c)_[\w=+/]{30,}|sntry[su]_[\w=+/-]{30,}|rubygems_[a-f0-9]{40,}|cio[A-Za-z0-9]{32}|tfp_[\w-]{40,}"
    r"|CFPAT-[\w-]{40,}|lsv2_(?:pt|sk)_[\w]{30,}|gsk_[A-Za-z0-9]{30,}|xai-[A-Za-z0-9]{40,}|pplx-[A-Za-z0-9]{30,}"
    r"|r8_[A-Za-z0-9]{30,}|pk\.eyJ[\w.-]{30,}|sk\.eyJ[\w.-]{30,}|rpa_[A-Z0-9]{30,}|phc_\w{30,}|phx_\w{30,}"
    r"|EAA[A-Za-z0-9]{60,}|AAAA[\w-]{7}:APA91b[\w-]{60,}|AKC[A-Za-z0-9]{20,}|bkua_[a-f0-9]{40}|ops_eyJ[\w=-]{40,}|sl\.[\w-]{60,}"
    r"|access_token\$production\$\w+\$[a-f0-9]{32}|amzn\.mws\.[0-9a-f-]{36}|sm_live_\w{20,}|rzp_(?:live|test)_\w{14,}"
    r"|live_(?=[A-Za-z]{0,12}[0-9])[A-Za-z0-9]{30,}|zpka_\w{20,}|lc_\w+_[a-f0-9]{30,}|re_[A-Za-z0-9]{8}_[A-Za-z0-9]{20,}|nfp_[A-Za-z0-9]{30,}",
    # Words that makers of keys put before them, whoever they are.
    "service key": r"[a-z][a-z0-9]{1,9}(?:[_-](?:live|test|prod|prd|api|key|sk|pk|pat|secret|token|auth|priv|admin|access|v[0-9]))+[_-](?P<made>(?=[\w-]{0,30}[0-9])[A-Za-z0-9]{20,}[\w-]*)"
    r"|[a-z]{2,8}_[A-Za-z0-9]{4,8}_(?=[A-Za-z_]{0,20}[0-9])[A-Za-z0-9]{32,}|[a-z]{2,4}_(?=[a-f]*[0-9])[a-f0-9]{32,}"
    r"|(?:pat|sdk|mob|api|key|tok|RGAPI)-(?:[a-z]{2}[0-9]-)?[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"
    r"|(?=[0-9A-Z-]{0,20}[0-9])[A-Z0-9]{5}(?:-[A-Z0-9]{5}){4}(?![A-Za-z0-9-])|x(?:key|smtp)sib-[\w-]{40,}|[xyz]prv[A-Za-z0-9]{80,}",
    "age key": r"AGE-SECRET-KEY-1[0-9A-Z]{40,}",
    "password hash": r"\$(?:2[abxy]?|5|6|y|1|apr1|argon2(?:id?|d)|pbkdf2[\w-]*)\$[\w./$=,+-]{20,}|(?:[0-9a-f]{32}):[0-9a-f]{32}(?![0-9a-f])",
}
_ALL = re.compile(
    "|".join(
        f"{_EDGE}(?:{pattern})" for pattern in (re.sub(r"\(\?P<\w+>", "(", form) for form in _FORMS.values())
    ),
    re.ASCII,
)
_EACH = {kind: re.compile(f"{_EDGE}(?:{pattern})", re.ASCII) for kind, pattern in _FORMS.items()}
_LINK = re.compile(
    r"[a-z][a-z0-9+.-]{0,30}://[^\s/:@\"'`<>|]*:(?P<value>[^\s/@\"'`<>|]+(?:/[^\s/@\"'`<>|]+)?)@[\w\[.-]",
    re.I | re.ASCII,
)
_BEARER = re.compile(
    r"(?:\b(?:bearer|token)|authorization[\"']?\s*[:=]\s*[\"'`]?\w+)\s+(?P<value>[\w.~+/=-]{16,})",
    re.I | re.ASCII,
)
_BASIC = re.compile(r"\bbasic\s+(?P<value>[A-Za-z0-9+/]{8,}={0,2})(?![\w+/=-])", re.I | re.ASCII)
_SOME = re.compile(r"[\w+/=.~:$-]{16}", re.ASCII)
#: What detect-secrets may be asked about: a run long enough to be a key, with a digit and a letter in it.
_RUN = re.compile(r"[\w+/=.~:-]{20,}", re.ASCII)
_DIGIT, _LETTER = re.compile("[0-9]"), re.compile("[A-Za-z]")
_HEX = re.compile(r"(?:[\w-]*[:=])?[0-9a-f-]+", re.I | re.ASCII)
_PLUGINS = {
    "artifactory.ArtifactoryDetector": "service token",
    "aws.AWSKeyDetector": "AWS key",
    "azure_storage_key.AzureStorageKeyDetector": "Azure key",
    "cloudant.CloudantDetector": "cloud token",
    "discord.DiscordBotTokenDetector": "Discord token",
    "github_token.GitHubTokenDetector": "GitHub token",
    "gitlab_token.GitLabTokenDetector": "GitLab token",
    "ibm_cloud_iam.IbmCloudIamDetector": "cloud token",
    "ibm_cos_hmac.IbmCosHmacDetector": "cloud token",
    "jwt.JwtTokenDetector": "web token",
    "mailchimp.MailchimpDetector": "service token",
    "npm.NpmDetector": "npm token",
    "openai.OpenAIDetector": "OpenAI key",
    "pypi_token.PypiTokenDetector": "PyPI token",
    "sendgrid.SendGridDetector": "SendGrid key",
    "slack.SlackDetector": "Slack token",
    "softlayer.SoftlayerDetector": "cloud token",
    "square_oauth.SquareOAuthDetector": "service token",
    "stripe.StripeDetector": "Stripe key",
    "telegram_token.TelegramBotTokenDetector": "Telegram token",
}


def find(line: str) -> Iterator[Span]:
    """Give the keys of known form in *line*."""
    if _SOME.search(line) and _ALL.search(line):
        for kind, pattern in _EACH.items():
            yield from _spans(pattern, line, kind)
    if "://" in line:
        yield from _spans(_LINK, line, "password in a link", least=3)
    yield from (span for span in _spans(_BEARER, line, "bearer token") if _bears(line[span.start : span.end]))
    yield from (
        span for span in _spans(_BASIC, line, "basic login") if _is_login(line[span.start : span.end])
    )


def find_more(line: str) -> Iterator[Span]:
    """Ask detect-secrets about *line*, when it holds anything long enough."""
    if not any(map(_may_be_key, _RUN.findall(line))):
        return
    for kind, plugin in _plugins():
        for value in plugin.analyze_string(line):
            start = line.find(value)
            if (
                start >= 0
                and len(value) >= 8
                and not values.is_placeholder(value)
                and not values.is_name(value)
            ):
                yield Span(start, start + len(value), kind)


def _may_be_key(run: str) -> bool:
    return bool(_DIGIT.search(run) and _LETTER.search(run)) and not _HEX.fullmatch(run)


def _spans(pattern: re.Pattern[str], line: str, kind: str, least: int = 0) -> Iterator[Span]:
    for found in pattern.finditer(line):
        name = next((name for name, value in found.groupdict().items() if value), None)
        value = found.group(name) if name else found.group()
        if len(value) > least and not _shows_a_place(value):
            yield Span(*(found.span(name) if name else found.span()), kind)


def _shows_a_place(value: str) -> bool:
    """Tell a form filled with a placeholder: `sk-xxxxxxxx`, `AKIA...EXAMPLE`, `sk-your-key-here`."""
    return (
        values.is_placeholder(value)
        or (len(set(value[4:])) < 5 and len(value) > 12)
        or bool(re.match(r"[%{]|\$(?![\w-]{1,16}\$)", value))
    )


def _bears(value: str) -> bool:
    return any(map(str.isdigit, value)) and not values.is_identifier(value) and not values.is_name(value)


def _is_login(value: str) -> bool:
    text = decoded(value)
    return ":" in text and not values.is_placeholder(text.partition(":")[2])


def decoded(value: str) -> str:
    """Give the plain text that base64 hides, "" when it hides none."""
    import base64

    try:
        text = base64.b64decode(value + "=" * (-len(value) % 4), validate=True).decode("utf-8")
    except ValueError:
        return ""
    return text if all(character.isprintable() or character in "\n\r\t" for character in text) else ""


@cache
def _plugins() -> list[tuple[str, BasePlugin]]:
    from importlib import import_module

    import_module("detect_secrets")  # its parts import each other in a circle unless it comes first
    found = []
    for name, kind in _PLUGINS.items():
        module, _, plugin = name.partition(".")
        found.append((kind, getattr(import_module(f"detect_secrets.plugins.{module}"), plugin)()))
    return found
