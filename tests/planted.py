"""A seed -> made-up secrets in notes, and clean lines that only look like them; put together at run time.

No key stands in this file as it would in a note, so that a scanner finds nothing here. The templates
with an even number tuned the detectors first; those with an odd number measured them.
"""

from __future__ import annotations

import base64
import random
import string
import uuid
from collections.abc import Callable, Iterator
from typing import NamedTuple

LOWER, UPPER, DIGITS = string.ascii_lowercase, string.ascii_uppercase, string.digits
BASE62 = LOWER + UPPER + DIGITS
HEX = "0123456789abcdef"


class Planted(NamedTuple):
    """A note's text with one secret in it."""

    template: int
    text: str
    value: str


class Maker:
    """Makes values from one seed."""

    def __init__(self, seed: int) -> None:
        self.chance = random.Random(seed)

    def of(self, letters: str, length: int) -> str:
        return "".join(self.chance.choice(letters) for _ in range(length))

    def base62(self, length: int) -> str:
        """Give letters of every kind, a digit among them in any case."""
        return self.of(LOWER, 1) + self.of(DIGITS, 1) + self.of(UPPER, 1) + self.of(BASE62, length - 3)

    def base64(self, size: int) -> str:
        return base64.b64encode(self.chance.randbytes(size)).decode()

    def uuid(self) -> str:
        return str(uuid.UUID(int=self.chance.getrandbits(128), version=4))

    def password(self) -> str:
        """Give what a person would choose."""
        words = (
            "ferry harbour walnut copper lantern meadow ticket saddle pepper violin badger glacier".split()
        )
        first, second = self.chance.sample(words, 2)
        number = self.of("23456789", 1) + self.of(DIGITS, self.chance.randint(0, 3))
        return self.chance.choice(
            [
                f"{first}{number}",
                f"{first.capitalize()}{second.capitalize()}{number}",
                f"{first.capitalize()}-{second}-{number}!",
                f"{first[:3]}{number}{self.of('!@$%&', 1)}{second[:4].upper()}",
                self.base62(12),
                f"{first}_{second}{number}#",
            ]
        )

    def words(self, count: int, joint: str) -> str:
        words = (
            "ferry harbour walnut copper lantern meadow ticket saddle pepper violin badger glacier".split()
        )
        return joint.join(self.chance.sample(words, count))

    def pin(self) -> str:
        return self.of("123456789", 1) + self.of(DIGITS, self.chance.choice([3, 5]))


def _join(*parts: str) -> str:
    return "".join(parts)


PEM = "-----%s RSA PRI" + "VATE KEY-----"
BARE_PEM = "-----%s OPENSSH PRI" + "VATE KEY-----"

#: Each makes the secret and the text that it stands in; `{}` is its place.
TEMPLATES: list[tuple[Callable[[Maker], str], str]] = [
    (lambda m: _join("gh", "p_", m.base62(36)), "The deploy job clones with {} for now."),
    (lambda m: _join("github", "_pat_", m.base62(22), "_", m.base62(59)), "- GITHUB_TOKEN={}"),
    (lambda m: _join("AK", "IA", m.of(UPPER + "234567", 16)), "Access key of the backup user: `{}`"),
    (lambda m: m.base62(40), "aws_secret_access_key = {}"),
    (lambda m: _join("AI", "za", m.base62(35)), 'const maps = "https://maps.example.net/api?key={}"'),
    (
        lambda m: _join("ya", "29.", m.base62(60)),
        "curl -H 'Authorization: Bearer {}' https://storage.example.net/b",
    ),
    (
        lambda m: m.base64(64),
        "DefaultEndpointsProtocol=https;AccountName=logs;AccountKey={};EndpointSuffix=core",
    ),
    (lambda m: _join(m.base62(3), "8Q~", m.base62(34)), "Azure app registration, client secret {}"),
    (lambda m: _join("gl", "pat-", m.base62(20)), "git clone https://oauth2:{}@git.example.net/team/app.git"),
    (lambda m: _join("gl", "dt-", m.base62(20)), "デプロイトークンは {} です。"),
    (lambda m: _join("xo", "xb-", m.of(DIGITS, 11), "-", m.of(DIGITS, 12), "-", m.base62(24)), "slack: {}"),
    (
        lambda m: _join(
            "https://hooks.sl", "ack.com/services/T", m.of(UPPER, 8), "/B", m.of(UPPER, 8), "/", m.base62(24)
        ),
        "Alerts go to {}",
    ),
    (lambda m: _join("sk", "_live_", m.base62(24)), "stripe.api_key = '{}'"),
    (lambda m: _join("wh", "sec_", m.base62(32)), "Webhook signing: {}"),
    (lambda m: _join("sk", "-proj-", m.base62(48)), "export OPENAI_API_KEY={}"),
    (lambda m: _join("sk", "-ant-api03-", m.base62(80)), "エージェントの鍵：{}"),
    (lambda m: _join("np", "m_", m.base62(36)), "//registry.example.net/:_authToken={}"),
    (lambda m: m.uuid(), "//npm.example.net/:_authToken={}"),
    (
        lambda m: _join("py", "pi-AgEIcHlwaS5vcmc", m.base62(90)),
        "[pypi]\nusername = __token__\npassword = {}",
    ),
    (lambda m: _join("S", "G.", m.base62(22), ".", m.base62(43)), "mail key {} (send only)"),
    (lambda m: m.of(HEX, 32), "Twilio auth token: {}"),
    (lambda m: _join("S", "K", m.of(HEX, 32)), "twilio sid {}"),
    (lambda m: _join(m.of("123456789", 10), ":AA", m.base62(33)), "The bot answers to {}."),
    (lambda m: _join("M", m.base62(23), ".", m.base62(6), ".", m.base62(27)), "client.run('{}')"),
    (
        lambda m: _join("ey", "J", m.base62(20), ".ey", "J", m.base62(60), ".", m.base62(43)),
        "Cookie: session={}",
    ),
    (
        lambda m: _join("ey", "J", m.base62(20), ".ey", "J", m.base62(60), ".", m.base62(43)),
        "期限なしの JWT: {}",
    ),
    (lambda m: m.password(), "postgres://app:{}@db.internal.example:5432/main"),
    (
        lambda m: m.password().replace("@", "-").replace("#", "-"),
        "REDIS_URL=redis://:{}@cache.internal.example:6379/0",
    ),
    (lambda m: m.password().replace("@", "-"), "Server=db.internal;Database=main;User Id=app;Password={};"),
    (lambda m: m.password(), "jdbc:mysql://db.internal/main?user=app&password={}"),
    (
        lambda m: "\n".join([PEM % "BEGIN", *(m.base62(64) for _ in range(6)), PEM % "END"]),
        "Key of the old host:\n\n{}\n",
    ),
    (
        lambda m: "\n".join([BARE_PEM % "BEGIN", *(m.base62(70) for _ in range(5)), BARE_PEM % "END"]),
        "```\n{}\n```",
    ),
    (lambda m: m.password(), "machine git.example.net login deploy password {}"),
    (lambda m: m.password(), "machine api.example.net\n  login bot\n  password {}\n"),
    (lambda m: m.password(), "The password is {}."),
    (lambda m: m.password(), "The password for the staging database was changed to {} on Monday."),
    (lambda m: m.password(), "パスワードは{}です。"),
    (lambda m: m.password(), "ステージングのパスワードは「{}」に変更しました。"),
    (lambda m: m.pin(), "暗証番号: {}"),
    (lambda m: m.pin(), "金庫の暗証番号は {} です。"),
    (lambda m: m.password(), "Wi-Fi password: {}"),
    (lambda m: m.password(), "Guest wifi is `harbour-guest`, password `{}`."),
    (lambda m: m.password(), "Log in with admin / {}"),
    (lambda m: m.password(), "credentials: deploy:{}"),
    (lambda m: m.base62(32), "export API_TOKEN={}"),
    (lambda m: m.of(HEX, 40), 'export CI_DEPLOY_TOKEN="{}"'),
    (lambda m: m.base62(24), "---\ntitle: Router\napi_key: {}\n---\n"),
    (lambda m: m.password(), "---\ntitle: Router\npassword:\n  {}\n---\n"),
    (lambda m: m.of(HEX, 64), "SECRET_KEY = '{}'"),
    (lambda m: m.base64(32), "PrivateKey = {}"),
    (lambda m: m.password(), "| host | user | password |\n|---|---|---|\n| db1 | app | {} |"),
    (lambda m: m.password(), "| ホスト | ID | パスワード |\n|---|---|---|\n| db1 | app | `{}` |"),
    (lambda m: m.password(), "curl -u deploy:{} https://files.example.net/list"),
    (lambda m: m.password(), "mysql -h db.internal -u root -p{} main < dump.sql"),
    (lambda m: m.password(), "sshpass -p '{}' ssh pi@garden.local"),
    (lambda m: m.password(), "PGPASSWORD={} psql -h db.internal"),
    (lambda m: m.base62(40), "X-Api-Key: {}"),
    (lambda m: base64.b64encode(f"deploy:{m.password()}".encode()).decode(), "Authorization: Basic {}"),
    (lambda m: m.words(4, " "), 'The passphrase is "{}".'),
    (lambda m: m.words(4, "-"), "Passphrase of the backup disk: {}"),
    (lambda m: m.words(12, " "), "Seed phrase: {}"),
    (lambda m: m.words(12, " "), "リカバリーフレーズ：{}"),
    (
        lambda m: m.base62(28),
        '{"clientId": "web", "clientSecret": "{}"}'.replace('{"c', '{{"c').replace('"}', '"}}'),
    ),
    (lambda m: m.password(), "<server><username>ci</username><password>{}</password></server>"),
    (lambda m: _join("h", "f_", m.of(LOWER + UPPER, 34)), "model pulled with {}"),
    (lambda m: _join("do", "p_v1_", m.of(HEX, 64)), "doctl auth init -t {}"),
    (lambda m: _join("hv", "s.", m.base62(24)), "vault login {}"),
    (lambda m: _join("gl", "sa_", m.base62(32), "_", m.of(HEX, 8)), "grafana provisioning uses {}"),
    (lambda m: _join("ATAT", "T3", m.base62(180)), "Jira: {}"),
    (lambda m: _join("lin", "_api_", m.base62(40)), "Linear {}"),
    (lambda m: _join("shp", "at_", m.of(HEX, 32)), "shop admin token {}"),
    (lambda m: _join("NR", "AK-", m.of(UPPER + DIGITS, 27)), "New Relic user key {}"),
    (lambda m: _join("AGE-SEC", "RET-KEY-1", m.of(UPPER + DIGITS, 58)), "{}"),
    (lambda m: _join("$2", "b$12$", m.base62(53)), "admin:{}"),
    (lambda m: m.base62(44), "use {} until the new one arrives"),
    (lambda m: m.base62(32), "新しいキーが届くまで {} を使う"),
    (lambda m: base64.b64encode(f"password={m.password()}".encode()).decode(), "data:\n  config: {}"),
    (lambda m: m.base62(32), "docker login registry.example.net -u ci -p {}"),
    (lambda m: m.of(UPPER + "234567", 32), "otpauth://totp/vpn:sam?secret={}&issuer=vpn"),
    (lambda m: m.of(UPPER + "234567", 16), "2FA secret: {}"),
    (lambda m: m.password(), "VPN: user sam, pw {}"),
    (lambda m: m.password(), "ログイン: sam、PW: {}"),
    (lambda m: m.password(), "- **Password**: `{}`"),
    (lambda m: m.password(), "- パスワード（共有）： {}"),
    (lambda m: m.pin(), "The PIN of the door is {}."),
    (lambda m: m.pin(), "Alarm code {}, press the hash key after it."),
    (lambda m: m.password(), "WIFI:S:harbour;T:WPA;P:{};;"),
    (lambda m: m.password(), "wpa_passphrase harbour {}"),
    (lambda m: m.base62(20), "password_file content: {}"),
    (lambda m: m.password(), '  password: "{}"  # rotate in May'),
    (lambda m: m.base62(22), "?access_token={}&page=2"),
    (lambda m: m.uuid(), "HEROKU_API_KEY={}"),
    (lambda m: m.of(HEX, 32), "signing secret is {}"),
    (lambda m: m.base62(27), "token -> {}"),
    (lambda m: m.password(), "Use `{}` as the password of the test account."),
    (lambda m: m.password(), "共有アカウントには {} というパスワードでログインする。"),
    (lambda m: m.password(), "Passwort: {}"),
    (lambda m: m.password(), "合言葉は「{}」。"),
    (lambda m: m.password(), "set DB_PASS={}"),
    (lambda m: m.password(), '$env:DB_PASSWORD = "{}"'),
]

#: Written when the detectors stood; what they missed then (13 of 200) was mended, so now they hold the line.
FRESH: list[tuple[Callable[[Maker], str], str]] = [
    (lambda m: m.password(), "Remember that the router's admin password is {} now"),
    (lambda m: m.password(), "old password: {} (do not use)"),
    (lambda m: m.password(), "We agreed on {} as the shared password."),
    (lambda m: m.password(), "His password was {}, which the audit found."),
    (lambda m: m.password(), "NAS: https://nas.local, user admin, password {}"),
    (lambda m: m.password(), "ssh root@10.0.0.7 (password: {})"),
    (lambda m: m.password(), "smb://sam:{}@nas.local/share".replace("@nas", "@nas")),
    (lambda m: m.password().replace("@", "-"), "amqp://guest:{}@queue.internal.example:5672//"),
    (
        lambda m: m.password().replace("@", "-"),
        "mongodb+srv://app:{}@cluster0.example.net/main?retryWrites=true",
    ),
    (
        lambda m: m.password().replace("@", "-"),
        "git remote add origin https://sam:{}@git.example.net/notes.git",
    ),
    (lambda m: m.password(), "spring.datasource.password={}"),
    (lambda m: m.password(), "  DB_PASSWORD: {}"),
    (lambda m: m.password(), "ENV ADMIN_PASSWORD={}"),
    (lambda m: m.password(), "      - POSTGRES_PASSWORD={}"),
    (lambda m: m.password(), '{"user": "sam", "password": "{}"}'),
    (lambda m: m.password(), "password = '{}'"),
    (lambda m: m.password(), "redis-cli -h cache -a {} ping"),
    (lambda m: m.password(), "docker login -u sam --password {} registry.example.net"),
    (lambda m: m.password(), 'psql "host=db user=app password={} dbname=main"'),
    (lambda m: m.password(), "net use Z: \\\\nas\\share /user:sam {}"),
    (lambda m: m.password(), "db.internal:5432:main:app:{}"),
    (lambda m: m.password(), "今のパスワードは {} 、来月変える。"),
    (lambda m: m.password(), "管理画面のパスワード：{}"),
    (lambda m: m.password(), "パスワードを「{}」にした。"),
    (lambda m: m.password(), "仮パスワードは{}。初回に変更のこと。"),
    (lambda m: m.password(), "Wi-Fiのパスワード→{}"),
    (lambda m: m.password(), "ユーザー名 sam、パスワード {}"),
    (lambda m: m.password(), "パスは {} だよ"),
    (lambda m: m.pin(), "玄関の暗証番号は{}番です"),
    (lambda m: m.pin(), "暗証番号「{}」"),
    (lambda m: m.pin(), "The safe opens with code {}; the PIN is {}"),
    (lambda m: m.pin(), "SIM PIN: {}"),
    (lambda m: m.pin(), "PINコードは {} に変更しました"),
    (lambda m: m.base62(32), "APIキーは {} です"),
    (lambda m: m.base62(40), "アクセストークン：{}"),
    (lambda m: m.base62(24), "シークレットは「{}」"),
    (lambda m: m.base62(32), "The API key is {}"),
    (lambda m: m.base62(32), "api-key: {}"),
    (lambda m: m.base62(32), '"apiKey": "{}",'),
    (lambda m: m.base62(32), 'curl -H "X-Auth-Token: {}" https://api.example.net/v1'),
    (lambda m: m.base62(32), "https://api.example.net/v1/list?api_key={}"),
    (lambda m: m.base62(32), "wget --header='Authorization: token {}' https://api.example.net"),
    (lambda m: m.of(HEX, 32), "DD_API_KEY={}"),
    (lambda m: m.of(HEX, 40), "sonar.login.token={}"),
    (lambda m: m.of(HEX, 64), "encryption key: {}"),
    (lambda m: m.of(HEX, 64), "0x wallet private key: {}"),
    (lambda m: m.uuid(), "client_secret: {}"),
    (lambda m: m.uuid(), "tenant API token is {}"),
    (lambda m: m.base64(24), 'AUTH_SECRET="{}"'),
    (lambda m: m.base64(32), "  PresharedKey = {}"),
    (lambda m: _join("gh", "s_", m.base62(36)), "runner used {} in run 81"),
    (lambda m: _join("gl", "rt-", m.base62(20)), "gitlab-runner register --token {}"),
    (lambda m: _join("AS", "IA", m.of(UPPER + "234567", 16)), "aws_access_key_id={}"),
    (lambda m: _join("xo", "xp-", m.of(DIGITS, 11), "-", m.of(DIGITS, 11), "-", m.of(HEX, 32)), "legacy {}"),
    (
        lambda m: _join("xa", "pp-1-A", m.of(UPPER + DIGITS, 10), "-", m.of(DIGITS, 13), "-", m.of(HEX, 64)),
        "socket mode {}",
    ),
    (lambda m: _join("rk", "_live_", m.base62(24)), "restricted {}"),
    (lambda m: _join("sk", "-", m.base62(48)), "key in the old script: {}"),
    (lambda m: _join("sk", "-or-v1-", m.of(HEX, 64)), "OpenRouter {}"),
    (lambda m: _join("gs", "k_", m.base62(52)), "groq {}"),
    (lambda m: _join("EAA", "CEdEose0cBA", m.base62(80)), "page token {}"),
    (lambda m: _join("sq", "0csp-", m.base62(43)), "square {}"),
    (lambda m: _join("key", "-", m.of(HEX, 32)), "mailgun {}"),
    (lambda m: _join(m.of(HEX, 32), "-us", "12"), "mailchimp {}"),
    (lambda m: _join("dckr", "_pat_", m.base62(27)), "docker hub {}"),
    (lambda m: _join("GOC", "SPX-", m.base62(28)), "oauth client {}"),
    (lambda m: _join("ntn", "_", m.base62(46)), "notion {}"),
    (lambda m: _join("figd", "_", m.base62(40)), "figma {}"),
    (
        lambda m: _join("https://disc", "ord.com/api/webhooks/", m.of(DIGITS, 18), "/", m.base62(68)),
        "post to {}",
    ),
    (
        lambda m: "\n".join(
            [
                "-----BEGIN EC PRI" + "VATE KEY-----",
                m.base62(64),
                m.base62(40),
                "-----END EC PRI" + "VATE KEY-----",
            ]
        ),
        "> {}",
    ),
    (
        lambda m: _join(
            "-----BEGIN PRI", "VATE KEY-----\\n", m.base62(64), "\\n-----END PRI", "VATE KEY-----\\n"
        ),
        '"private_key": "{}"',
    ),
    (lambda m: m.base62(48), "kept here for the moment: {}"),
    (lambda m: m.base62(40), "鍵: {}"),
    (lambda m: m.base62(26), "---\ntitle: Bot\nauth:\n  token: {}\n---\n"),
    (lambda m: m.base62(26), "---\nsecrets:\n  - name: api\n    value: {}\n---\n"),
    (lambda m: m.base62(26), "access_token: >-\n  {}\n"),
    (lambda m: m.password(), "| サービス | パスワード |\n|---|---|\n| NAS | {} |"),
    (lambda m: m.password(), "| Key | Value |\n|---|---|\n| password | {} |"),
    (lambda m: m.password(), "Password\n: {}\n"),
    (lambda m: m.password(), '<property name="password" value="{}"/>'),
    (lambda m: m.words(5, "-"), "master password: {}"),
    (lambda m: m.words(3, " "), "合言葉は「{}」です"),
    (lambda m: m.words(24, " ") if False else m.words(12, " "), "wallet recovery phrase is {}"),
    (lambda m: _join("$6", "$", m.base62(8), "$", m.base62(86)), "root:{}:19000:0:99999:7:::"),
    (lambda m: base64.b64encode(f"api_key: {m.base62(24)}".encode()).decode(), "encoded: {}"),
    (lambda m: m.base62(16), "FTP: sam / {}"),
    (lambda m: m.base62(10), "login with sam:{}"),
    (lambda m: m.password(), "I reset it; new pw is {}"),
    (lambda m: m.password(), "ｐａｓｓｗｏｒｄ：{}"),
]


#: Kinds that three rounds written blind brought up: commands, settings of other tools, codes in prose, lists.
OTHERS: list[tuple[Callable[[Maker], str], str]] = [
    (lambda m: m.password(), "CREATE USER sam IDENTIFIED BY '{}';"),
    (lambda m: m.password(), "CREATE LOGIN web WITH PASSWORD = N'{}';"),
    (lambda m: m.password(), '$c = ConvertTo-SecureString "{}" -AsPlainText -Force'),
    (lambda m: m.password(), 'echo "root:{}" | chpasswd'),
    (lambda m: m.password(), "htpasswd -bc /etc/nginx/.ht admin {}"),
    (lambda m: m.password(), "apiVersion: v1\nkind: Secret\nstringData:\n  admin: {}"),
    (lambda m: m.base64(12), "apiVersion: v1\ndata:\n  admin: {}\nkind: Secret"),
    (lambda m: m.password(), "kubectl create secret generic x --from-literal=db={}"),
    (lambda m: m.password(), 'variable "db_pass" {\n  default = "{}"\n}'),
    (lambda m: m.password(), "name,url,username,password\nBank,https://bank.example,sam,{}"),
    (lambda m: m.password(), "Username | Password\n---|---\nsam | {}"),
    (lambda m: m.password(), 'requests.get(url, auth=("sam", "{}"))'),
    (lambda m: m.password(), "evil-tool -i 10.0.0.1 -u sam -p {}"),
    (lambda m: m.password(), "rabbitmqctl add_user sam {}"),
    (lambda m: m.password(), "keytool -list -keystore a.jks -storepass {}"),
    (lambda m: m.password(), '<data name="Password"><value>{}</value></data>'),
    (lambda m: m.password(), "[smtp.example.com]:587 sam@example.com:{}"),
    (lambda m: m.password(), "I changed the root password to {} yesterday"),
    (lambda m: m.password(), "Guest Wi-Fi: Cafe / {}"),
    (lambda m: m.password(), "Password:\n\n{}"),
    (lambda m: m.password(), "【パスワード】\n{}"),
    (lambda m: m.password(), "パスワードは次の通りです：\n{}"),
    (lambda m: m.password(), "Wi-Fiのパスワードは{}になります"),
    (lambda m: m.of(HEX, 32), "https://{}@o12345.ingest.example.io/998877"),
    (lambda m: m.of(HEX, 64), "https://b.s3.example.com/k?X-Amz-Expires=900&X-Amz-Signature={}"),
    (lambda m: m.uuid(), "POST https://n8n.example.com/webhook/{}"),
    (lambda m: m.base62(32), "JSESSIONID={}"),
    (lambda m: m.of(HEX, 40), "Run `tool login {}` once"),
    (lambda m: m.uuid(), "Authorization: Splunk {}"),
    (lambda m: _join("shippo", "_live_", m.of(HEX, 40)), "parcels go with {}"),
    (lambda m: f"{m.of(HEX, 4)}7-{m.of(HEX, 5)}", "Recovery codes:\n- {}"),
    (lambda m: f"3{m.of(DIGITS, 3)} {m.of(DIGITS, 4)}", "Backup codes for the account\n1. {}"),
    (lambda m: " ".join(m.of(LOWER, 3) + "7" for _ in range(8)), "Authenticator setup key: {}"),
    (lambda m: m.pin(), "Alarm code at the office is {}, disarm within 30 s."),
    (lambda m: m.pin(), "The lock box combo is {}"),
    (lambda m: m.pin(), "キーボックスの番号は{}です"),
    (lambda m: m.pin(), "オートロックは{}で開く"),
    (lambda m: m.pin(), "the code to the supply closet is {}"),
]


def others(seed: int) -> list[Planted]:
    """Give four texts of every kind that came last."""
    maker = Maker(seed)
    made = [(number, make(maker), text) for number, (make, text) in [*enumerate(OTHERS)] * 4]
    return [Planted(number, text.replace("{}", value), value) for number, value, text in made]


def planted(count: int = 200, seed: int = 4, *, fresh: bool = False) -> list[Planted]:
    """Give *count* texts with a secret, every template in turn."""
    templates = FRESH if fresh else TEMPLATES
    maker = Maker(seed)
    found = []
    for number in range(count):
        make, text = templates[number % len(templates)]
        value = make(maker)
        found.append(Planted(number % len(templates), text.replace("{}", value), value))
    return found


_CLEAN_EN = """Rotate the password every {n} days and tell nobody.
The password is stored in the team's vault, not in this note.
The token expires after {n} minutes; ask for a new one.
commit {hex40} fixed the leak in {path}
See {path} for how tokens are counted: max_tokens: {n}000.
sha256:{hex64}  release-{n}.tar.gz
integrity: sha512-{b64}
Trace id {uuid}, request {n}.
export TOKEN=<your-token>
export API_KEY=${{API_KEY}}
TOKEN=$(cat /run/secrets/token)
password: changeme
password = os.environ["DB_PASSWORD"]
api_key: xxxxxxxxxxxxxxxxxxxxxxxx
The key is to write the reason down, not only the change.
Passwords need {n} characters, a digit and a mark.
postgres://user:password@localhost:5432/example
Authorization: Bearer <token>
The secret of a good sourdough is time.
def login(username: str, password: str) -> Token:
The primary key is (path, blob); the foreign key points at chunks.
image: data:image/png;base64,{b64}
ssh-ed25519 {b64} sam@laptop
Pull registry.example.net/app@sha256:{hex64}
We chose argon2id as the password hash in 20{n}.
The session token is rotated by the proxy, see ADR-{n}.
Forgot the password? Ask on the help desk channel.
AKIA is the prefix of such keys, and sk-... of those.
Meeting at {n}:30 in room {n}, PIN board on the left.
The index has {n}000 rows and took {n} ms; run {uuid}.
Set `password_min_length` to {n}.
[link](https://example.com/docs/d/{hex40}/edit?tab=t.0)
My password manager is KeePassXC; the file lies in ~/vault.kdbx.
- [ ] change the wifi password after the party
Author: Sam <sam@example.com>, revision {hex12}
getUserByEmailAddressAndTenantIdentifier2() is called twice.
The API token is missing in staging, which gives a 401.
`secret/data/app/{n}` holds the value.""".split("\n")

_CLEAN_JA = """パスワードを変更してください。
パスワードは{n}文字以上で、数字を含めること。
パスワードは社内の金庫で管理しています。
暗証番号は本人以外に教えないでください。
トークンの有効期限は{n}分です。
トークンは1Passwordに保存してあります。
コミット {hex40} で修正済み。
合言葉を決めてから出かける。
秘密鍵は各自の端末で作成し、共有しない。
APIキーは環境変数 OPENAI_API_KEY から読み込む。
パスワードは必須です。
パスワードは毎月更新すること（担当：佐藤）。
ハッシュ値は {hex64} です。
20{n}年4月1日に会議を開き、{n}名が参加した。
パスワードはArgon2でハッシュ化して保存する。
トークン数は{n}000で、上限を超えない。
パスワードを忘れた場合は管理者に連絡する。
認証キーの発行は{n}日ほどかかる。
要約は{path}を参照。ID は {uuid}。
パスポートとパス券を忘れずに持っていく。
北口の鍵は受付で借りる。番号札は{n}番。
鍵の受け渡しは{n}時から。
アクセスキーを再発行した。旧キーは無効化済み。
長い文章でも区切りのない日本語は秘密ではないので止めてはいけない、という試験のための一文である。""".split(
    "\n"
)


def clean(count: int = 1000, seed: int = 4) -> Iterator[str]:
    """Give lines of technical notes that hold no secret, in both languages."""
    maker = Maker(seed)
    lines = _CLEAN_EN + _CLEAN_JA
    for number in range(count):
        yield lines[number % len(lines)].format(
            n=maker.chance.randint(10, 59),
            hex40=maker.of(HEX, 40),
            hex64=maker.of(HEX, 64),
            hex12=maker.of(HEX, 12),
            b64=maker.base64(48),
            uuid=maker.uuid(),
            path=f"docs/{maker.words(2, '-')}.md:{maker.chance.randint(1, 90)}-99",
        )
