"""Made-up secrets are found and masked, in both languages; what only looks like one is left alone."""

from __future__ import annotations

import sys

import planted
import pytest
from conftest import GARDEN, HERE

from memtool import secrets

BASE62 = "A1b2C3d4E5f6G7h8I9j0K1l2M3n4O5p6Q7r8S9t0"


def missed(planted_: list[planted.Planted]) -> list[str]:
    return [one.text for one in planted_ if not secrets.find(one.text)]


def leaked(planted_: list[planted.Planted]) -> list[str]:
    masked = [(one, secrets.mask(one.text)) for one in planted_]
    return [one.text for one, text in masked if any(line in text for line in one.value.split("\n"))]


@pytest.mark.parametrize("half", [0, 1], ids=["tuned on", "measured"])
def test_of_200_made_up_secrets_98_in_100_are_found_and_masked(half: int) -> None:
    some = [one for one in planted.planted(200) if one.template % 2 == half]

    assert len(missed(some)) <= 0.02 * len(some)
    assert len(leaked(some)) <= 0.02 * len(some)


@pytest.mark.parametrize("seed", [1, 2])
def test_secrets_of_kinds_that_came_later_are_found_too(seed: int) -> None:
    some = planted.planted(200, seed, fresh=True)

    assert len(missed(some)) <= 0.02 * len(some)
    assert len(leaked(some)) <= 0.02 * len(some)


@pytest.mark.parametrize("seed", [3, 4])
def test_secrets_of_kinds_written_blind_are_found_too(seed: int) -> None:
    some = planted.others(seed)

    assert len(missed(some)) <= 0.02 * len(some)
    assert len(leaked(some)) <= 0.02 * len(some)


def test_of_2000_clean_lines_less_than_1_in_100_is_stopped() -> None:
    files = [*GARDEN.rglob("*.md"), HERE.parent / "README.md", *HERE.glob("notes/*.md")]
    lines = [
        line for file in files for line in file.read_text("utf-8", "replace").split("\n") if line.strip()
    ]
    lines = [*lines[:1000], *planted.clean(2000 - len(lines[:1000]))]

    assert len(lines) == 2000
    assert len([line for line in lines if secrets.find(line)]) < 20


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("We use sk-" + "proj-" + BASE62, "OpenAI key"),
        ("We use gh" + "p_" + BASE62[:36], "GitHub token"),
        ("We use AK" + "IA" + "ABCDEFGHIJKLMNOP", "AWS key"),
        ("We use xo" + "xb-" + "1234567890-" + BASE62[:24], "Slack token"),
        ("Authorization: Bearer " + f"ey{'J'}{BASE62}.{BASE62}.{BASE62}", "web token"),
        ("postgres://sam:" + "s3cr3t-" + BASE62[:8] + "@db.example.invalid/main", "password in a link"),
        ("The password is hunter2.", "password"),
        ("パスワードはひまわり2024です。", "password"),
        ("暗証番号：４８２１", "PIN"),
        ("| user | password |\n|---|---|\n| sam | hunter2 |", "password"),
        ("api_key:\n  " + BASE62, "secret key"),
    ],
)
def test_a_secret_is_named_by_its_kind(text: str, kind: str) -> None:
    assert [one.kind for one in secrets.find(text)] == [kind]


@pytest.mark.parametrize(
    "text",
    [
        "The token sk-... is kept in the vault of the team.",
        "commit 3f2504e04f8941d39a0c0305e82c3301aaaaaaaa fixed it",
        "AKIA is the prefix of such keys.",
        "See data:image/png;base64,iVBORw0KGgo=",
        "password: ${DB_PASSWORD}",
        "password: <your-password>",
        "Rotate the password every 30 days.",
        "パスワードは12文字以上にしてください。",
        "The header begins with -----BEGIN PRIVATE" + " KEY-----, then base64.",
        "id 3f2504e0-4f89-41d3-9a0c-0305e82c3301",
        "Order 4401-9932-1187 shipped.",
        "The key findings: 12 of 30 users left.",
        "error code: 4042",
        "docker run -p 8080:80 nginx",
        "tags:\n  - backup\n  - storage",
        "Recovery codes\n\n- print them\n- 10 in total",
        "user, password, and token are asked for.\nThen, at 10:30, we test2, again.",
        "成功の鍵はチームワークです",
        "Wi-Fiのパスワードは受付に聞いてください",
    ],
)
def test_what_only_looks_like_a_secret_is_left_alone(text: str) -> None:
    assert secrets.find(text) == []
    assert secrets.mask(text) == text


def test_a_private_key_is_masked_to_its_end_and_named_by_its_first_line() -> None:
    text = f"a\n-----BEGIN PRIVATE{' KEY'}-----\n{BASE62}\n{BASE62}\n-----END PRIVATE{' KEY'}-----\nb\n"

    assert secrets.find(text) == [secrets.Secret(2, "private key")]
    assert BASE62 not in secrets.mask(text)
    assert secrets.mask(text).split("\n")[5] == "b"


def test_masking_keeps_every_line_and_its_end() -> None:
    masked = secrets.mask("a\r\npassword: hunter2\r\n次\r\n")

    assert masked == "a\r\npassword: [masked: password]\r\n次\r\n"


def test_a_secret_in_base64_is_mentioned() -> None:
    import base64

    text = base64.b64encode(b"password = tr0ub4dor&3").decode()

    assert [one.kind for one in secrets.find(f"data: {text}")] == ["secret in base64"]


def test_a_secret_that_stood_there_before_is_not_new() -> None:
    before = "# A\n\nThe password is hunter2.\n"

    assert secrets.new_in(f"{before}\nMore text.\n", before) == {}
    assert secrets.new_in("# A\n\nMore.\nThe password is hunter2.\n", before) == {}
    assert list(secrets.new_in(f"{before}The PIN is 4821.\n", before)) == [secrets.Secret(4, "PIN")]


def test_a_plain_text_asks_no_scanner_that_costs_time_to_load() -> None:
    import subprocess

    code = (
        "import sys\nfrom memtool import secrets\n"
        "secrets.find('# Ferry\\n\\nIt leaves at nine. 舟は九時に出る。\\n')\n"
        "print('detect_secrets' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert done.stdout.strip() == "False"


def test_a_secret_in_a_very_long_line_is_found_wherever_it_stands() -> None:
    for before in (0, 700, 795, 990, 1005, 5000):
        text = "ferry " * (before // 6) + "the password is hunter2 " + "quince " * 500

        assert secrets.find(text) == [secrets.Secret(1, "password")]
        assert "hunter2" not in secrets.mask(text)


def test_a_picture_in_one_long_line_is_no_secret() -> None:
    import base64
    import random

    picture = base64.b64encode(random.Random(4).randbytes(3100)).decode()

    assert secrets.find(f"![plan](data:image/png;base64,{picture})") == []


def long_text(shape: str, size: int) -> str:
    """Give a text of *size* characters in which a careless pattern would try every start and every end."""
    import random

    chance = random.Random(7)
    letters = {"base64": f"{BASE62}+/", "hex": "0123456789abcdef", "kana": "あいうえおパスワードは鍵です"}
    if shape in letters:
        return "".join(chance.choices(letters[shape], k=size))
    piece, before, after = {
        "nested quotes": ("\"'`「{[", "password: ", "!"),
        "one key again and again": ('password: "', "", ""),
        "ja": ("パスワードは現在", "", ""),
        "dots": ("1.", "", "!"),
        "paths": ("a/b.", "password:\n", "!"),
        "schemes": ("a.b+c", "", "://"),
        "a table's cell": ("1.", "| user | password |\n|---|---|\n| sam | ", "! |"),
        "blanks above": (" ", "", "x\nabcabc1"),
        "marks above": ("* ", "", "\nabcabc1"),
        "hooks": ("https://hooks", "", "?"),
        "options": (" -u a -p", "curl", " "),
        "doors": ("door safe code to ", "", "!"),
        "groups": ("abcd ", "setup key: ", "!"),
        "mails": ("a.b-", "password ", "@a.b/"),
        "codes": ("abc-", "Recovery codes\n", "!"),
        "a list with commas": ("a,b\n", "user,password\n", ""),
        "data of a cluster": ("data:\n", "", ""),
        "many lines": ("password: hunter2x\n", "", ""),
        "many keys": ("-----BEGIN PRIVATE" + " KEY-----\nabc: d\n", "", ""),
    }[shape]
    return before + (piece * (size // len(piece) + 1))[:size] + after


LONG = [
    *("base64", "hex", "kana", "nested quotes", "one key again and again", "ja", "dots", "paths", "schemes"),
    *("a table's cell", "blanks above", "marks above", "many lines", "many keys"),
    *("hooks", "options", "doors", "groups", "mails", "codes", "a list with commas", "data of a cluster"),
]


@pytest.mark.parametrize("shape", LONG)
def test_what_a_text_costs_grows_with_its_length_and_no_faster(shape: str) -> None:
    import time

    def cost(size: int) -> float:
        text, start = long_text(shape, size), time.process_time()
        secrets.mask(text)
        return time.process_time() - start

    cost(2_000)  # loads what is needed
    assert cost(120_000) < 6 * cost(40_000) + 1.0  # were it quadratic, nine times as much, and minutes


@pytest.mark.parametrize("shape", ["base64", "kana", "nested quotes"])
def test_a_megabyte_without_a_space_is_read_through(shape: str) -> None:
    text = f"{long_text(shape, 1_000_000)}\nThe password is hunter2.\n"

    assert secrets.mask(text).endswith("\nThe password is [masked: password].\n")


def test_many_new_secrets_are_each_told_with_their_line() -> None:
    text = "".join(f"password: hunter{number}x\n" for number in range(2_000))

    found = secrets.new_in(text, "")

    assert [one.line for one in found] == [*range(1, 2_001)]
    assert found[secrets.Secret(3, "password")] == ["hunter2x"]
