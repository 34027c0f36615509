"""A made-up world -> a vault of notes that agree, with contradictions planted in it; seeded, in two languages.

Four parts that share no subject, attribute or phrasing: detectors were developed on the first three, and what
is told of them is measured on ``kept``. Besides repeats of one fact in other words, the notes that agree hold what
looks like a contradiction and is none: other subjects in the same words, other attributes, other
environments, the past, ranges, rounded numbers, longer lists.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple


class Attribute(NamedTuple):
    """Something that is so of a subject: how it is said, and what may stand there (each in its spellings)."""

    kind: str
    says: tuple[str, ...]
    values: tuple[tuple[str, ...], ...]
    near: tuple[str, ...] = ()  # what looks like it and is no contradiction


class Half(NamedTuple):
    """The subjects of one language and half, and what is said of them."""

    subjects: tuple[str, ...]
    attributes: tuple[Attribute, ...]
    fillers: tuple[str, ...]


class Pair(NamedTuple):
    """A planted contradiction: two notes and what differs."""

    kind: str
    language: str
    one: str
    other: str


class World(NamedTuple):
    """Notes by path, the planted pairs, and all pairs of notes of which one contradicts the other."""

    notes: dict[str, str]
    pairs: list[Pair]
    true: dict[frozenset[str], Pair]


def _v(*texts: str) -> tuple[tuple[str, ...], ...]:
    return tuple(tuple(text.split(" = ")) for text in texts)


_DEV_EN = Half(
    tuple(
        f"{name} {kind}"
        for name in "billing search ledger invoice catalog payroll checkout inventory shipping analytics identity media".split()
        for kind in ("service", "queue", "dashboard")
    ),
    (
        Attribute(
            "number",
            (
                "The {s} keeps its backups for {v}.",
                "Backups of the {s} are retained for {v}.",
                "We store backups of the {s} for {v} before they are removed.",
            ),
            _v("30 days", "90 days = 90 days", "14 days = two weeks", "7 days = one week"),
            (
                "Backups of the {s} used to be kept for 5 days.",
                "Until May, backups of the {s} were retained for 3 days.",
            ),
        ),
        Attribute(
            "number",
            (
                "Requests to the {s} time out after {v}.",
                "The request timeout of the {s} is {v}.",
                "Timeout of the {s}: {v}",
            ),
            _v("30 seconds = 30 s", "5 seconds = 5 s", "2 minutes = 120 s", "45 seconds"),
            (
                "In staging, the request timeout of the {s} is 300 seconds.",
                "The request timeout of the {s} was originally 1 second.",
            ),
        ),
        Attribute(
            "number",
            ("The {s} accepts uploads of up to {v}.", "The largest upload that the {s} takes is {v}."),
            _v("50 MB", "2 GB = 2,000 MB", "250 MB", "10 MB"),
            (),
        ),
        Attribute(
            "date",
            ("The {s} goes live on {v}.", "Launch date of the {s}: {v}", "The launch of the {s} is on {v}."),
            _v("2026-03-03 = March 3, 2026", "2026-05-18 = 18 May 2026", "2026-09-01 = September 1, 2026"),
            ("The launch of the {s} was planned for 2025-01-10 before the budget was cut.",),
        ),
        Attribute(
            "date",
            ("The certificate of the {s} expires on {v}.", "The {s} has a certificate that runs out on {v}."),
            _v(
                "2027-01-31 = January 31, 2027",
                "2026-11-05 = 5 November 2026",
                "2026-08-20 = August 20, 2026",
            ),
            (),
        ),
        Attribute(
            "name",
            ("The {s} runs on {v}.", "The {s} is hosted on {v}."),
            _v("Fargate", "Heroku", "Hetzner", "Nomad"),
            ("The {s} used to run on Dokku.",),
        ),
        Attribute(
            "owner",
            (
                "The {s} is owned by {v}.",
                "{v} owns the {s}.",
                "Owner of the {s}: {v}",
                "{v} is responsible for the {s}.",
            ),
            _v("Alice", "Ravi", "Noriko", "Piotr", "Selma"),
            ("The {s} was formerly owned by Gustav.", "Reviewers of the {s} are Ines and Omar."),
        ),
        Attribute(
            "polarity",
            ("Rate limiting is {v} on the {s}.", "On the {s}, rate limiting is {v}."),
            _v("enabled = turned on", "disabled = turned off"),
            ("Caching is {w} on the {s}.",),
        ),
        Attribute(
            "polarity",
            ("Direct writes to the {s} are {v}.", "The {s} team says that direct writes are {v}."),
            _v("allowed = permitted", "forbidden = not allowed"),
            (),
        ),
        Attribute(
            "polarity",
            ("The {s} {v} personal data.", "Note that the {s} {v} personal data."),
            _v("stores", "does not store = never stores"),
            (),
        ),
        Attribute(
            "version",
            ("The {s} is built with Python {v}.", "The {s} needs Python {v}."),
            _v("3.11", "3.12", "3.9"),
            ("Python 3.8 was used by the {s} until last year.",),
        ),
        Attribute(
            "version",
            ("The {s} uses schema version {v}.", "Schema version of the {s}: {v}"),
            _v("4.2", "5.0", "3.7"),
            (),
        ),
    ),
    (
        "Ask in the platform channel before you change anything.",
        "The runbook has the details.",
        "Alerts go to the usual rota.",
        "It was reviewed by two people.",
        "See the architecture notes for the reasons.",
        "The incident review has been filed.",
        "The tests run on every push.",
    ),
)

_DEV_JA = Half(
    tuple(
        f"{name}{kind}"
        for name in "請求 検索 在庫 配送 会員 勤怠 給与 決済 予約 通知 帳票 認証".split()
        for kind in ("サービス", "バッチ", "画面")
    ),
    (
        Attribute(
            "number",
            (
                "{s}のバックアップは{v}保存する。",
                "{s}のバックアップの保存期間は{v}です。",
                "バックアップについて、{s}では{v}保管している。",
            ),
            _v("30日間 = 三十日間", "90日間 = ９０日間", "14日間 = 2週間", "7日間 = 1週間"),
            (
                "以前は{s}のバックアップを5日間保存していた。",
                "{s}のバックアップは去年まで3日間保存だった（旧ルール）。",
            ),
        ),
        Attribute(
            "number",
            ("{s}のタイムアウトは{v}です。", "{s}は{v}でタイムアウトする。", "{s}のタイムアウト: {v}"),
            _v("30秒", "5秒", "2分 = 120秒", "45秒 = ４５秒"),
            ("検証環境では{s}のタイムアウトは300秒です。",),
        ),
        Attribute(
            "money",
            ("{s}の月額費用は{v}です。", "{s}には毎月{v}の費用がかかる。"),
            _v("3万円 = 30,000円", "12万円 = 120,000円", "5千円 = 5,000円", "80万円"),
            (),
        ),
        Attribute(
            "date",
            ("{s}の公開日は{v}です。", "{s}は{v}に公開する。"),
            _v("2026年3月3日 = 令和8年3月3日", "2026年5月18日 = 2026-05-18", "2026年9月1日 = 9月1日"),
            ("{s}の公開日は当初2025年1月10日だった。",),
        ),
        Attribute(
            "date",
            ("{s}の証明書の期限は{v}です。", "{s}の証明書は{v}に切れる。"),
            _v("2027年1月31日 = 令和9年1月31日", "2026年11月5日 = 2026/11/05", "2026年8月20日"),
            (),
        ),
        Attribute(
            "name",
            ("{s}は{v}で動いている。", "{s}の稼働先は{v}です。"),
            _v("ファーゲート", "ヘロク", "さくらサーバ", "ノマド"),
            ("{s}はかつてドックで動いていた。",),
        ),
        Attribute(
            "owner",
            ("{s}の担当は{v}さんです。", "{v}さんが{s}を担当している。", "{s}の担当者: {v}"),
            _v("田中", "佐藤", "小林", "大西", "三浦"),
            ("{s}の前任の担当は山口さんだった。",),
        ),
        Attribute(
            "polarity",
            ("{s}の流量制限は{v}です。", "{s}では流量制限を{v}にしている。"),
            _v("有効 = オン", "無効 = オフ"),
            (),
        ),
        Attribute(
            "polarity",
            ("{s}への直接の書き込みは{v}です。", "{s}への直接書き込みは{v}。"),
            _v("可 = 許可", "不可 = 禁止"),
            (),
        ),
        Attribute(
            "polarity",
            ("{s}は個人情報を{v}。", "なお、{s}は個人情報を{v}。"),
            _v("保存する = 保存します", "保存しない = 保存しません"),
            (),
        ),
        Attribute(
            "version",
            ("{s}はPython {v}で動く。", "{s}のPythonのバージョンは{v}です。"),
            _v("3.11", "3.12", "3.9"),
            ("去年まで{s}はPython 3.8だった。",),
        ),
    ),
    (
        "詳細は手順書を参照。",
        "変更の前に相談すること。",
        "アラートはいつもの当番に届く。",
        "二人でレビューした。",
        "理由は設計メモにある。",
        "障害の振り返りは済んだ。",
    ),
)

_SECOND_EN = Half(
    tuple(
        f"{name} {kind}"
        for name in "maple cedar harbour riverside northern granite lantern meadow juniper copper island orchard".split()
        for kind in ("reading room", "greenhouse", "workshop")
    ),
    (
        Attribute(
            "number",
            ("The {s} has seats for {v}.", "Up to {v} fit into the {s}.", "Seats in the {s}: {v}"),
            _v("12 people = twelve people", "40 people", "25 people", "8 people = eight people"),
            ("Before the rebuild the {s} had seats for 6 people.",),
        ),
        Attribute(
            "number",
            ("The air in the {s} is held at {v}.", "We keep the {s} at {v}."),
            _v("18 °C", "21 °C", "24 °C", "15 °C"),
            ("In winter the {s} is held at 9 °C.",),
        ),
        Attribute(
            "number",
            ("A day in the {s} costs {v}.", "Hiring the {s} for a day is {v}."),
            _v("$120", "$85", "$1,500 = $1.5k", "$60"),
            (),
        ),
        Attribute(
            "number",
            ("Plants in the {s} are watered every {v}.", "Watering in the {s} happens every {v}."),
            _v("3 days = three days", "12 hours", "2 days = 48 hours", "6 hours"),
            (),
        ),
        Attribute(
            "date",
            (
                "The {s} reopens on {v}.",
                "Reopening of the {s}: {v}",
                "After the repairs the {s} opens again on {v}.",
            ),
            _v("2026-04-12 = April 12, 2026", "2026-06-30 = 30 June 2026", "2026-10-08 = October 8, 2026"),
            ("The {s} first opened on 1998-05-02.",),
        ),
        Attribute(
            "date",
            ("The inspection of the {s} is due on {v}.", "The {s} has to be inspected by {v}."),
            _v("2026-07-15 = July 15, 2026", "2026-12-01 = 1 December 2026", "2027-02-10"),
            (),
        ),
        Attribute(
            "date",
            ("Guided tours of the {s} take place on {v}.", "You can join a guided tour of the {s} on {v}."),
            _v("Tuesdays = Tuesday", "Fridays = Friday", "Sundays = Sunday"),
            (),
        ),
        Attribute(
            "name",
            ("The floor of the {s} was laid by {v}.", "{v} laid the floor of the {s}."),
            _v("Brandt", "Okafor", "Lindqvist", "Moretti"),
            (),
        ),
        Attribute(
            "name",
            ("The {s} gets its power from {v}.", "Power for the {s} comes from {v}."),
            _v("Nordkraft", "Helios", "Greenwatt", "Tepla"),
            ("Until 2020 power for the {s} came from Voltan.",),
        ),
        Attribute(
            "owner",
            (
                "{v} runs the {s}.",
                "The {s} is managed by {v}.",
                "Manager of the {s}: {v}",
                "{v} is in charge of the {s}.",
            ),
            _v("Beatriz", "Hamid", "Yuki", "Oskar", "Leila"),
            ("The previous manager of the {s} was Ferdinand.", "Helpers in the {s} are Anton and Mina."),
        ),
        Attribute(
            "polarity",
            ("Dogs are {v} in the {s}.", "In the {s}, dogs are {v}."),
            _v("allowed = permitted", "not allowed = forbidden"),
            ("Children are {w} in the {s}.",),
        ),
        Attribute(
            "polarity",
            ("A booking is {v} for the {s}.", "For the {s}, a booking is {v}."),
            _v("required = mandatory", "optional = not required"),
            (),
        ),
        Attribute(
            "polarity",
            ("Visitors {v} take photographs in the {s}.", "In the {s} visitors {v} take photographs."),
            _v("can", "cannot = can not"),
            (),
        ),
        Attribute(
            "version",
            ("The controller of the {s} has firmware {v}.", "Firmware of the {s} controller: {v}"),
            _v("2.4.1", "2.6.0", "3.0.2"),
            (),
        ),
    ),
    (
        "The key hangs behind the desk.",
        "Nina has the phone number of the plumber.",
        "Bring a torch in the evening.",
        "The guest book is on the shelf.",
        "Photos are in the shared album.",
        "The roof was painted green.",
        "Neighbours know about it.",
    ),
)

_SECOND_JA = Half(
    tuple(
        f"{name}{kind}"
        for name in "かえで 北 南 湖畔 白樺 岬 竹林 若葉 夕日 水車 石橋 月見".split()
        for kind in ("閲覧室", "温室", "工房")
    ),
    (
        Attribute(
            "number",
            ("{s}の定員は{v}です。", "{s}には{v}まで入れる。"),
            _v("12名 = 12人", "40名 = ４０名", "25名 = 二十五名", "8名"),
            ("改装前の{s}の定員は6名だった。",),
        ),
        Attribute(
            "number",
            ("{s}の室温は{v}に保つ。", "{s}の室温の設定は{v}です。"),
            _v("18度 = 18℃", "21度", "24度 = ２４度", "15度"),
            ("冬は{s}の室温を9度に保つ。",),
        ),
        Attribute(
            "money",
            ("{s}の一日の利用料は{v}です。", "{s}を一日借りると{v}かかる。"),
            _v("3,000円 = 3千円", "12,000円 = 1万2千円", "8,500円", "20,000円 = 2万円"),
            (),
        ),
        Attribute(
            "number",
            ("{s}の水やりは{v}ごとに行う。", "{s}では{v}ごとに水をやる。"),
            _v("3日 = 三日", "12時間", "2日 = 48時間", "6時間"),
            (),
        ),
        Attribute(
            "date",
            ("{s}の再開日は{v}です。", "修理のあと{s}は{v}に再開する。"),
            _v("2026年4月12日 = 令和8年4月12日", "2026年6月30日 = 2026-06-30", "2026年10月8日 = １０月８日"),
            ("{s}が最初に開いたのは1998年5月2日。",),
        ),
        Attribute(
            "date",
            ("{s}の点検の期限は{v}です。", "{s}は{v}までに点検を受ける。"),
            _v("2026年7月15日", "2026年12月1日 = 2026/12/01", "2027年2月10日 = 令和9年2月10日"),
            (),
        ),
        Attribute(
            "date",
            ("{s}の見学会は{v}に開く。", "{v}に{s}の見学会がある。"),
            _v("火曜日 = 火曜", "金曜日 = 金曜", "日曜日"),
            (),
        ),
        Attribute(
            "time",
            ("{s}は{v}に閉まる。", "{s}の閉室時刻は{v}です。"),
            _v("17時 = 午後5時", "20時30分 = 20:30", "19時 = 19:00"),
            (),
        ),
        Attribute(
            "name",
            ("{s}の電気は{v}から買っている。", "{s}の電力の契約先は{v}です。"),
            _v("ノルド電力", "ヘリオス電力", "みどり電力", "テプラ電力"),
            (),
        ),
        Attribute(
            "owner",
            ("{s}の責任者は{v}さんです。", "{v}さんが{s}を管理している。", "{s}の責任者: {v}"),
            _v("村上", "長谷川", "石田", "藤井", "黒木"),
            ("{s}の前の責任者は岡本さんだった。",),
        ),
        Attribute(
            "polarity",
            ("{s}への犬の同伴は{v}です。", "{s}では犬の同伴は{v}。"),
            _v("可 = 可能", "不可 = 禁止"),
            (),
        ),
        Attribute(
            "polarity",
            ("{s}の利用に予約は{v}です。", "{s}を使うとき予約は{v}。"),
            _v("必須 = 必要", "任意 = 不要"),
            (),
        ),
        Attribute(
            "polarity",
            ("{s}では写真を撮ることが{v}。", "{s}で写真を撮ることは{v}。"),
            _v("できる = できます", "できない = できません"),
            (),
        ),
        Attribute(
            "version",
            ("{s}の制御盤のファームウェアは{v}です。", "{s}の制御盤: ファームウェア {v}"),
            _v("2.4.1", "2.6.0", "3.0.2"),
            (),
        ),
    ),
    (
        "鍵は机の裏にある。",
        "夜は懐中電灯を持っていく。",
        "写真は共有のアルバムに入れた。",
        "屋根は緑に塗った。",
        "近所には知らせてある。",
        "記名帳は棚の上。",
    ),
)


_THIRD_EN = Half(
    tuple(
        f"{name} {kind}"
        for name in "willow saffron marigold bluebell clover hazel quartz amber violet heron falcon otter".split()
        for kind in ("clinic", "course", "warehouse")
    ),
    (
        Attribute(
            "number",
            (
                "The {s} has a waiting list of {v}.",
                "{v} are on the waiting list of the {s}.",
                "The waiting list of the {s} has {v} on it.",
            ),
            _v("14 people = fourteen people", "60 people", "35 people", "9 people = nine people"),
            ("The waiting list of the {s} once had 90 people on it.",),
        ),
        Attribute(
            "number",
            (
                "Invoices from the {s} are payable within {v}.",
                "The {s} expects payment of invoices within {v}.",
                "Payment term of the {s}: {v}",
            ),
            _v("30 days", "2 weeks = 14 days", "60 days", "10 days = ten days"),
            ("For new customers, invoices from the {s} are payable within 5 days.",),
        ),
        Attribute(
            "money",
            (
                "Joining the {s} costs {v} a month.",
                "The monthly fee for the {s} is {v}.",
                "Monthly fee of the {s}: {v}",
            ),
            _v("€40", "€1,200 = €1.2k", "€75", "€18"),
            ("The monthly fee for the {s} was previously €12.",),
        ),
        Attribute(
            "number",
            ("The {s} gives a discount of {v} to students.", "Students get {v} off at the {s}."),
            _v("10% = 10 percent", "25%", "50% = 50 percent"),
            (),
        ),
        Attribute(
            "date",
            (
                "The contract of the {s} ends on {v}.",
                "Contract end of the {s}: {v}",
                "The {s} is under contract until the end, which is {v}.",
            ),
            _v("2027-03-31 = March 31, 2027", "2028-06-30 = 30 June 2028", "2026-12-15 = December 15, 2026"),
            ("The first contract of the {s} ended on 2019-03-31.",),
        ),
        Attribute(
            "date",
            (
                "The audit of the {s} starts on {v}.",
                "Auditors arrive at the {s} on {v}.",
                "Audit of the {s}: {v}",
            ),
            _v("2026-08-03 = August 3, 2026", "2026-11-16 = 16 November 2026", "2027-01-11"),
            (),
        ),
        Attribute(
            "time",
            ("The {s} opens at {v}.", "Opening time of the {s}: {v}", "Doors of the {s} open at {v}."),
            _v("08:30 = 8:30 am", "10:00 = 10 am", "13:00 = 1 pm"),
            ("On Sundays the {s} opens at 11:45.",),
        ),
        Attribute(
            "name",
            (
                "The {s} buys its paper from {v}.",
                "Paper for the {s} is supplied by {v}.",
                "{v} supplies the paper for the {s}.",
            ),
            _v("Kestrel", "Papyra", "Norwood", "Sibelco"),
            ("Paper for the {s} used to be supplied by Ostrava.",),
        ),
        Attribute(
            "name",
            ("The {s} is in {v}.", "The {s} is located in {v}."),
            _v("Porto", "Ghent", "Turku", "Leeds"),
            (),
        ),
        Attribute(
            "owner",
            ("{v} heads the {s}.", "The head of the {s} is {v}.", "The {s} is led by {v}."),
            _v("Fatima", "Jonas", "Mireille", "Tomasz", "Aiko"),
            ("Before her retirement Ulrike headed the {s}.", "{s} staff are Pia, Ken and Lars."),
        ),
        Attribute(
            "polarity",
            ("Smoking is {v} at the {s}.", "At the {s}, smoking is {v}."),
            _v("permitted = allowed", "prohibited = not permitted"),
            ("Eating is {w} at the {s}.",),
        ),
        Attribute(
            "polarity",
            ("The {s} {v} cash.", "Please note that the {s} {v} cash."),
            _v("accepts = accepts", "does not accept = never accepts"),
            (),
        ),
        Attribute(
            "polarity",
            ("Insurance is {v} for the {s}.", "For the {s}, insurance is {v}."),
            _v("mandatory = required", "optional = voluntary"),
            (),
        ),
        Attribute(
            "version",
            ("The scanner at the {s} runs release {v}.", "The {s} has a scanner with release {v}."),
            _v("7.1", "8.0", "6.4"),
            (),
        ),
    ),
    (
        "Parking is behind the building.",
        "The forms are in the blue folder.",
        "Somebody should water the fern.",
        "A spare badge lies at reception.",
        "The minutes were sent round.",
        "Bring your own mug.",
        "The lift is slow.",
    ),
)

_THIRD_JA = Half(
    tuple(
        f"{name}{kind}"
        for name in "青葉 さくら 緑町 港南 星野 つばめ 高台 川辺 朝霧 鈴鹿 みなと 楓".split()
        for kind in ("診療所", "講座", "倉庫")
    ),
    (
        Attribute(
            "number",
            ("{s}の待機者は{v}です。", "{s}では{v}が順番を待っている。", "{s}の待機者数: {v}"),
            _v("14人 = 十四人", "60人 = ６０人", "35人", "9人 = 九人"),
            ("以前、{s}の待機者は90人だった。",),
        ),
        Attribute(
            "number",
            ("{s}の請求書の支払期限は{v}以内です。", "{s}への支払いは請求から{v}以内とする。"),
            _v("30日 = 三十日", "2週間 = 14日", "60日", "10日"),
            (),
        ),
        Attribute(
            "money",
            ("{s}の月会費は{v}です。", "{s}の会費は月{v}である。", "{s}の月会費: {v}"),
            _v("4,000円 = 4千円", "12,000円 = 1.2万円", "7,500円", "1,800円"),
            ("{s}の月会費はかつて1,200円だった。",),
        ),
        Attribute(
            "number",
            ("{s}の学生割引は{v}です。", "{s}では学生は{v}引きになる。"),
            _v("10% = 1割", "25%", "50% = 5割"),
            (),
        ),
        Attribute(
            "date",
            ("{s}の契約は{v}に終わる。", "{s}の契約終了日は{v}です。", "{s}の契約終了: {v}"),
            _v("2027年3月31日 = 令和9年3月31日", "2028年6月30日 = 2028-06-30", "2026年12月15日 = 2026/12/15"),
            ("{s}の最初の契約は2019年3月31日に終わった。",),
        ),
        Attribute(
            "date",
            ("{s}の監査は{v}に始まる。", "{s}の監査開始日は{v}です。"),
            _v("2026年8月3日 = 令和8年8月3日", "2026年11月16日", "2027年1月11日 = 2027-01-11"),
            (),
        ),
        Attribute(
            "time",
            ("{s}は{v}に開く。", "{s}の開館時刻は{v}です。", "{s}の開館: {v}"),
            _v("8時30分 = 8:30", "10時 = 午前10時", "13時 = 午後1時"),
            ("日曜の{s}は11時45分に開く。",),
        ),
        Attribute(
            "name",
            ("{s}の用紙は{v}から仕入れている。", "{s}の用紙の仕入先は{v}です。"),
            _v("ケストレル", "パピラ商会", "ノーウッド", "山吹紙業"),
            (),
        ),
        Attribute(
            "name",
            ("{s}は{v}にある。", "{s}の所在地は{v}です。"),
            _v("神戸", "札幌", "金沢", "熊本"),
            (),
        ),
        Attribute(
            "owner",
            ("{s}の所長は{v}さんです。", "{s}の所長: {v}", "{v}さんが{s}の所長を務める。"),
            _v("坂本", "西川", "遠藤", "福田", "今井"),
            ("{s}の前の所長は中村さんだった。",),
        ),
        Attribute(
            "polarity",
            ("{s}での喫煙は{v}です。", "{s}では喫煙は{v}。"),
            _v("可 = 可能", "禁止 = 不可"),
            (),
        ),
        Attribute(
            "polarity",
            ("{s}では現金が{v}。", "なお、{s}では現金が{v}。"),
            _v("使える = 使えます", "使えない = 使えません"),
            (),
        ),
        Attribute(
            "polarity",
            ("{s}の利用に保険は{v}です。", "{s}では保険への加入は{v}。"),
            _v("必須 = 義務", "任意 = 不要"),
            (),
        ),
        Attribute(
            "version",
            ("{s}の読取機のリリースは{v}です。", "{s}の読取機はリリース{v}を使う。"),
            _v("7.1", "8.0", "6.4"),
            (),
        ),
    ),
    (
        "駐車場は建物の裏にある。",
        "用紙は青いファイルに入れた。",
        "観葉植物に水をやる人を決めたい。",
        "予備の名札は受付にある。",
        "議事録は回覧した。",
        "マグカップは持参のこと。",
        "エレベーターは遅い。",
    ),
)


_KEPT_EN = Half(
    tuple(
        f"{name} {kind}"
        for name in "Aurora Bellweather Corsair Drifter Ember Foxglove Gannet Halcyon Ironwood Jackdaw".split()
        for kind in ("ferry", "festival", "dormitory")
    ),
    (
        Attribute(
            "number",
            ("The {s} carries {v}.", "Capacity of the {s}: {v}", "There is room for {v} on the {s}."),
            _v("220 people", "48 people", "1,100 people = 1.1k people"),
            ("In 2015 the {s} carried 75 people.",),
        ),
        Attribute(
            "number",
            (
                "Crew of the {s} rest for {v} between shifts.",
                "Between shifts the crew of the {s} gets {v} of rest.",
            ),
            _v("11 hours = eleven hours", "8 hours = 480 minutes", "14 hours"),
            (),
        ),
        Attribute(
            "money",
            (
                "A ticket for the {s} costs {v}.",
                "The {s} charges {v} for a ticket.",
                "Ticket price of the {s}: {v}",
            ),
            _v("£35", "£12", "£1,050"),
            ("The child ticket for the {s} costs £4.",),
        ),
        Attribute(
            "date",
            (
                "Registration for the {s} closes on {v}.",
                "You can register for the {s} up to and including {v}.",
            ),
            _v("2026-05-29 = May 29, 2026", "2026-07-07 = 7 July 2026", "2026-02-18"),
            (),
        ),
        Attribute(
            "date",
            ("The {s} was founded on {v}.", "Founding date of the {s}: {v}"),
            _v("1987-10-01 = October 1, 1987", "2003-04-22 = 22 April 2003", "1994-01-05"),
            (),
        ),
        Attribute(
            "time",
            ("Quiet hours on the {s} begin at {v}.", "On the {s}, quiet hours begin at {v}."),
            _v("22:00 = 10 pm", "23:30 = 11:30 pm", "21:15"),
            (),
        ),
        Attribute(
            "name",
            (
                "The engine of the {s} was made by {v}.",
                "{v} made the engine of the {s}.",
                "Engine maker of the {s}: {v}",
            ),
            _v("Vulcan", "Torvik", "Hagane", "Delmas"),
            (),
        ),
        Attribute(
            "owner",
            (
                "{v} is the coordinator of the {s}.",
                "The {s} is coordinated by {v}.",
                "Coordinator of the {s}: {v}",
            ),
            _v("Amara", "Bjorn", "Chiyo", "Dmitri"),
            ("The {s} was once coordinated by Edith.",),
        ),
        Attribute(
            "polarity",
            ("Bicycles are {v} on the {s}.", "On the {s}, bicycles are {v}."),
            _v("welcome = allowed", "banned = not allowed"),
            ("Skateboards are {w} on the {s}.",),
        ),
        Attribute(
            "polarity",
            ("The {s} {v} wireless internet.", "Guests should know that the {s} {v} wireless internet."),
            _v("offers = offers", "does not offer = doesn't offer"),
            (),
        ),
        Attribute(
            "version",
            ("The ticket app of the {s} is at version {v}.", "Version of the {s} ticket app: {v}"),
            _v("2.3", "3.1", "2.9.4"),
            (),
        ),
    ),
    (
        "Lost property goes to the office.",
        "The flags were washed.",
        "Nobody has found the ladder.",
        "Tea is served in the hall.",
        "A new map hangs by the stairs.",
    ),
)

_KEPT_JA = Half(
    tuple(
        f"{name}{kind}"
        for name in "あおぞら 銀河 第一 すみれ 大橋 白鳥 いずみ 東雲 富士見 ほたる".split()
        for kind in ("フェリー", "祭り", "学生寮")
    ),
    (
        Attribute(
            "number",
            ("{s}の乗員は{v}です。", "{s}の乗員数: {v}", "{s}には{v}が乗り組む。"),
            _v("22名 = 二十二名", "48名", "110名 = １１０名"),
            ("{s}の乗員は開業当時7名だった。",),
        ),
        Attribute(
            "number",
            ("{s}の重さは{v}です。", "{s}は{v}の重さがある。"),
            _v("120kg = 0.12トン", "85kg", "300kg"),
            (),
        ),
        Attribute(
            "money",
            ("{s}の切符は{v}です。", "{s}の切符を買うと{v}かかる。"),
            _v("3,500円", "1万円 = 10,000円", "800円 = 八百円"),
            ("{s}の子供の切符は400円です。",),
        ),
        Attribute(
            "date",
            ("{s}の申込みは{v}に締め切る。", "{s}の申込締切は{v}です。"),
            _v("2026年5月29日 = 令和8年5月29日", "2026年7月7日 = 2026-07-07", "2026年2月18日"),
            (),
        ),
        Attribute(
            "date",
            ("{s}の発足日は{v}です。", "{s}の発足: {v}"),
            _v("1987年10月1日 = 昭和62年10月1日", "2003年4月22日 = 平成15年4月22日", "1994年1月5日"),
            (),
        ),
        Attribute(
            "time",
            ("{s}の消灯は{v}です。", "{s}では{v}に消灯する。"),
            _v("22時 = 午後10時", "23時30分 = 23:30", "21時"),
            (),
        ),
        Attribute(
            "name",
            ("{s}の機関は{v}の製造です。", "{s}の機関の製造元は{v}です。"),
            _v("バルカン", "トルビク", "長嶺工業", "デルマス"),
            (),
        ),
        Attribute(
            "owner",
            ("{s}の幹事は{v}さんです。", "{s}の幹事: {v}", "{v}さんが{s}の幹事を引き受けている。"),
            _v("荒井", "馬場", "千葉", "土井"),
            ("{s}の初代の幹事は江口さんです。",),
        ),
        Attribute(
            "polarity",
            ("{s}への自転車の持ち込みは{v}です。", "{s}では自転車の持ち込みは{v}。"),
            _v("可 = 可能", "不可 = 禁止"),
            (),
        ),
        Attribute(
            "polarity",
            ("{s}では無線通信を{v}。", "なお、{s}では無線通信を{v}。"),
            _v("提供している = 提供しています", "提供していない = 提供していません"),
            (),
        ),
        Attribute(
            "version",
            ("{s}の切符アプリはバージョン{v}です。", "{s}の切符アプリ: バージョン{v}"),
            _v("2.3", "3.1", "2.9.4"),
            (),
        ),
    ),
    (
        "忘れ物は事務所に届ける。",
        "旗は洗濯した。",
        "はしごが見つからない。",
        "ホールでお茶を出す。",
        "階段のそばに新しい地図を貼った。",
    ),
)

HALVES = {
    "dev": {"en": _DEV_EN, "ja": _DEV_JA},
    "second": {"en": _SECOND_EN, "ja": _SECOND_JA},
    "third": {"en": _THIRD_EN, "ja": _THIRD_JA},
    "kept": {"en": _KEPT_EN, "ja": _KEPT_JA},
}

_WRITERS = ("human", "agent/scribe", "agent/planner")


def world(half: str, *, pairs: int = 100, notes: int = 1000, seed: int = 7) -> World:
    """Make notes that agree, and among them *pairs* of notes that do not."""
    random_ = random.Random(f"{half}{seed}")
    made: dict[str, str] = {}
    planted: list[Pair] = []
    true: dict[frozenset[str], Pair] = {}
    said: dict[tuple[str, str, int], list[str]] = {}
    for language in ("en", "ja"):
        told = HALVES[half][language]
        facts = [(s, a) for s in told.subjects for a in range(len(told.attributes))]
        random_.shuffle(facts)
        facts = facts[: max(pairs // 2, notes // 4)]  # each fact is told twice, in other words
        truth = {fact: random_.randrange(len(told.attributes[fact[1]].values)) for fact in facts}
        chosen = _chosen(told, facts, pairs // 2)
        for number in range(notes // 2):
            fact = facts[number % len(facts)]
            path = f"{language}/{number // 100}/{number:04}.md"
            made[path] = _note(random_, told, fact, truth, language, number)
            said.setdefault((language, *fact), []).append(path)
        for number, fact in enumerate(chosen):
            path = f"{language}/x/{number:04}.md"
            wrong = random_.choice(
                [v for v in range(len(told.attributes[fact[1]].values)) if v != truth[fact]]
            )
            made[path] = _note(
                random_, told, fact, {**truth, fact: wrong}, language, number + 7000, plain=True
            )
            pair = Pair(told.attributes[fact[1]].kind, language, said[language, *fact][0], path)
            planted.append(pair)
            true |= {frozenset((other, path)): pair for other in said[language, *fact]}
    return World(made, planted, true)


def _chosen(told: Half, facts: list[tuple[str, int]], count: int) -> list[tuple[str, int]]:
    """Choose facts to contradict, each kind about as often."""
    kinds: dict[str, list[tuple[str, int]]] = {}
    for fact in facts:
        kinds.setdefault(told.attributes[fact[1]].kind, []).append(fact)
    turns = [
        fact for row in zip(*(facts[:100] * 9 for facts in kinds.values()), strict=False) for fact in row
    ]
    return list(dict.fromkeys(turns))[:count]


def _note(
    random_: random.Random,
    told: Half,
    fact: tuple[str, int],
    truth: dict[tuple[str, int], int],
    language: str,
    number: int,
    *,
    plain: bool = False,
) -> str:
    """Write a note that says a fact, among other lines, some of which look like contradictions."""
    subject, at = fact
    attribute = told.attributes[at]
    lines = [_said(random_, attribute, subject, truth[fact])]
    if not plain and attribute.near and random_.random() < 0.5:
        near = random_.choice(attribute.near)
        lines.append(near.format(s=subject, w=attribute.values[len(subject) % 2][0]))
    lines += random_.sample(told.fillers, random_.randrange(1, 3))
    random_.shuffle(lines)
    title = _title(random_, subject, language, number)
    day = f"202{random_.randrange(4, 7)}-{random_.randrange(1, 13):02}-{random_.randrange(1, 29):02}"
    body = (
        "\n\n".join(lines)
        if random_.random() < 0.5
        else " ".join(lines)
        if language == "en" and ": " not in " ".join(lines)
        else "\n".join(f"- {line}" for line in lines)
    )
    return f"---\ntitle: {title}\ncreated: {day}\nwriter: {random_.choice(_WRITERS)}\n---\n\n# {title}\n\n{body}\n"


def _title(random_: random.Random, subject: str, language: str, number: int) -> str:
    if language == "ja":
        return random_.choice(
            (f"{subject}について", f"{subject}のメモ", f"連絡メモ {number}", f"週次のまとめ {number}")
        )
    return random_.choice(
        (
            f"About the {subject}",
            f"{subject.capitalize()}: notes",
            f"Weekly summary {number}",
            f"Handover {number}",
        )
    )


def _said(random_: random.Random, attribute: Attribute, subject: str, value: int) -> str:
    text = random_.choice(attribute.says).format(s=subject, v=random_.choice(attribute.values[value]))
    return text[0].upper() + text[1:] if text.isascii() else text


def write(found: World, folder: Path) -> None:
    """Write the notes of a world into a folder."""
    for path, text in found.notes.items():
        file = folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")


def kinds(pairs: list[Pair]) -> Iterator[tuple[str, str, list[Pair]]]:
    """Give the pairs of each language and kind."""
    for language in ("en", "ja"):
        for kind in sorted({pair.kind for pair in pairs}):
            if some := [pair for pair in pairs if (pair.language, pair.kind) == (language, kind)]:
                yield language, kind, some
