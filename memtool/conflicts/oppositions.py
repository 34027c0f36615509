"""Words of two languages: which stand against each other, which mean the same, which tell what is done.

Tables, for whoever compares sentences. Words are written as they are said; English verbs in any form.
"""

from __future__ import annotations

from memtool.lexical import stem

#: Oppositions: the one side, the other side.
OPPOSITES = {
    "on": (
        "enable enabled activate activated active turned-on 有効 オン 稼働中 起動",
        "disable disabled deactivate deactivated inactive turned-off 無効 オフ 停止中 停止",
    ),
    "allow": (
        "allow allowed permit permitted accept accepted approved welcome 許可 可能 可 許す 認める 認め 受け付け 受付可",
        "deny denied forbid forbidden prohibit prohibited ban banned reject rejected refuse refused disallowed blocked 禁止 拒否 不可 不可能 禁じ 却下 受付不可 厳禁",
    ),
    "need": (
        "required require requires mandatory compulsory obligatory must necessary needed needs need 必須 必要 要 義務",
        "optional voluntary unnecessary needless 任意 不要 省略可 自由",
    ),
    "public": ("public 公開", "private confidential secret 非公開 秘密 限定公開"),
    "up": (
        "increase increased increases rise rises raise raised grow grows 増加 増え 上昇 上が",
        "decrease decreased decreases drop drops fall falls lower lowered lowers reduce reduced reduces shrink shrinks 減少 減 低下 下が",
    ),
    "begin": (
        "start starts begin begins opens 開始 始ま",
        "stop stops end ends finish finishes closes 終了 終わ",
    ),
    "success": ("succeed succeeds succeeded pass passes passed 成功 合格", "fail fails failed 失敗 不合格"),
    "all": (
        "include includes included including 含む 含み 含まれ 込み",
        "exclude excludes excluded excluding 除く 除外 除き 別",
    ),
    "sync": ("synchronous synchronously 同期", "asynchronous asynchronously 非同期"),
    "auto": ("automatic automatically automated 自動", "manual manually by-hand 手動 手作業"),
    "first": ("before 事前", "after 事後"),
    "support": ("supported support supports 対応 対応済み サポート", "unsupported 非対応 未対応"),
    "same": ("safe secure 安全", "unsafe insecure dangerous 危険"),
    "full": ("encrypted 暗号化", "unencrypted plaintext 平文"),
    "online": ("online remote remotely オンライン リモート", "onsite in-person offline 対面 オフライン 出社"),
    "paid": ("free free-of-charge 無料 無償", "paid 有料 有償"),
    "done": (
        "done finished complete completed closed resolved fixed 完了 済 済み 解決",
        "open pending unfinished incomplete unresolved 未完了 未 未解決 未対応 保留",
    ),
}

#: Oppositions that are a scope rather than a claim: lines that differ in one speak of two things.
SCOPES = {
    "env-staging": "staging stg stage preprod ステージング 検証 検証環境",
    "env-production": "production prod live 本番 本番環境 プロダクション",
    "env-development": "development dev local localhost 開発 開発環境 ローカル",
    "env-test": "test testing qa ci sandbox テスト テスト環境 サンドボックス",
    "first": "first initial 最初 初回 初代",
    "last": "last final 最後 最終",
    "second": "second third fourth 二回目 二代目",
    "max": "maximum max upper ceiling 最大 上限 最長 最高",
    "min": "minimum min lower floor 最小 下限 最短 最低",
    "mean": "average mean median 平均 中央値",
    "weekday": "weekday weekdays 平日",
    "weekend": "weekend weekends holiday holidays 休日 土日 週末 祝日",
    "read": "read reads reading 読み取り 読込",
    "write": "write writes writing 書き込み 書込",
    "summer": "summer 夏 夏季 夏期 夏場",
    "winter": "winter 冬 冬季 冬期 冬場",
    "internal": "internal internally 社内 内部",
    "external": "external externally 社外 外部",
    "primary": "primary main 主 主系 正",
    "secondary": "secondary backup-site standby deputy 副 従系",
    "inbound": "inbound incoming ingress upload uploads 受信 アップロード",
    "outbound": "outbound outgoing egress download downloads 送信 ダウンロード",
    "free-plan": "free 無料",
    "paid-plan": "pro premium enterprise 有料",
    "new": "new 新規 新",
    "old": "existing 既存",
    "morning": "morning 朝 午前",
    "evening": "evening afternoon 夕方 夜 午後",
    "full-time": "full-time permanent 正社員",
    "part-time": "part-time contractor contractors パート アルバイト 契約社員 業務委託",
    "domestic": "domestic 国内",
    "overseas": "overseas international abroad 海外 国際",
    "adult": "adult adults 大人",
    "child": "child children 子供 子ども 小人",
}

#: Words that may stand for each other in what notes say of things.
SAME = """
keep keeps kept retain retains retained store stored stores hold held preserve preserved saved save 保存 保持 保管 残す 残
database db データベース
server servers サーバー サーバ
run runs running host hosted hosts operate operated deployed 稼働 動作 運用 動 走
owner owns owned owner maintain maintained maintainer responsible charge lead leads led manage manages managed manager handles handled run-by steward 担当 担当者 責任者 主担当 オーナー 管理者 リーダー 管理
meet meets meeting meetings gather gathers session ミーティング 会議 打ち合わせ 打合せ 会合 定例 定例会
deadline due submit submitted submission 締切 締め切り 期限 提出期限 期日 提出
cost costs price priced priced fee charge charged expense 費用 料金 価格 値段 金額 代金
budget budgets 予算
limit limits limited cap capped ceiling maximum 上限 制限 最大
timeout timeouts expire expires expired expiry expiration タイムアウト 有効期限 失効
start starts begin begins open opens opening launch launches 開始 始 始業 開店 開館
end ends close closes closing finish finishes 終了 終 終業 閉店 閉館
release released releases ship ships shipped リリース 公開
deploy deploys deployed deployment deployments rollout デプロイ 配備 展開
backup backups バックアップ 控え
password passwords パスワード 暗証番号
use uses used using utilise utilize employ 使用 利用 使
version versions バージョン 版
staff employee employees team-member 社員 従業員 職員
office オフィス 事務所
customer customers client clients 顧客 お客様 客
email mail emails メール 電子メール
phone telephone 電話
room rooms 部屋 会議室
log logs ログ 記録
rotate rotates rotated rotation renew renewed renewal replaced 更新 交換 ローテーション 入れ替え
pay pays paid payment 支払 支払い 払
holiday vacation leave 休暇 有給 休み
send sends sent deliver delivered delivery ship 送付 配送 配達 発送
size capacity large 容量 大きさ サイズ
retry retries retried 再試行 リトライ
live lives located location based situated 所在地 所在 場所 位置
review reviews reviewed レビュー 査読 確認
approve approves approved approval sign-off 承認 決裁
temperature 温度 気温
refund refunds refunded 返金 払い戻し
"""

#: Words that say what is done; others may be put in their place without speaking of another thing.
VERBS = frozenset(
    stem(word)
    for word in """accept add agree allow answer apply approve arrive ask assign attend become begin belong break bring
    build buy call cancel carry change charge check choose clean close collect come commit complete connect contain
    continue count cover create cut decide define deliver depend deploy describe drop employ enable end ensure enter
    exceed exist expect expire explain export extend fail fall feed fill find finish fit fix follow forward gather
    generate get give go grow handle happen have hire hold host import improve include increase inform inspect install
    join keep know last launch lead leave let limit list live load look maintain make manage mean measure meet monitor
    move name need notify occur offer open operate order own pass pay perform permit pick place plan post prefer prevent
    process produce provide publish pull push put raise reach read receive record reduce refer reject release rely
    remain remove rename renew reopen repeat replace reply report request require reset reside resolve respond restart
    restore retain return review rotate run save say schedule see sell send serve set ship show shut sign sit spend
    split stand start stay stick stop store submit supply support switch sync take talk teach tell test train transfer
    treat trigger try turn update upgrade upload use validate visit wait walk want warn watch water weigh work write
    kept held sent built bought brought left made met paid put run said sold shown taken told written hosted based
    located situated done happens takes place scheduled planned set due using used called named""".split()
)

#: Words that add no subject of their own.
LIGHT = frozenset(
    stem(word)
    for word in """least most about maximum minimum always usually normally default current currently total whole long
    large largest big small high low daily weekly monthly yearly value number amount time times people person thing
    everybody everyone somebody back away off up down out exactly precisely generally every again still team side
    following please remember reminder important fyi part way""".split()
) | frozenset(
    "月額 年額 日額 担当 先 全体 合計 現行 場合 方針 決 以下 以上 以内 最大 時間 日時 時刻 曜日 期間 数 値 設定 注意 基本 原則 通常 一".split()
)

#: Katakana that names a kind of thing, not one thing.
COMMON = frozenset(
    """サービス バッチ サーバー サーバ システム データ ファイル バージョン ファームウェア ソフト アプリ ユーザー ユーザ メンバー
    チーム プロジェクト ページ メニュー コスト スケジュール タスク ルール ポート アドレス フォルダ エラー テーブル ネットワーク
    クラウド ストレージ メモリ ディスク ログイン アカウント アクセス プラン サイズ コード キャッシュ リクエスト セッション
    トークン キー ツール ライブラリ フレームワーク プログラム イベント セミナー コース グループ センター ホール エアコン
    ドア ガラス カード チケット レポート マニュアル ドキュメント メモ リスト スタッフ パソコン プリンター カメラ センサー
    インターネット ウェブ サイト ブログ メッセージ アラート モニター テレビ ラジオ スマホ バス タクシー ホテル レストラン
    カフェ コーヒー ランチ ゴミ トイレ エレベーター""".split()
)
