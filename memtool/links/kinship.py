"""Words for relations, in English and Japanese -> the names that notes give them, and which way they point.

A family is one relation under all its names: those that point from a thing (``names``: *Atlas* ``owner``
*Mio*) and those that point to it (``inverse``: *Mio* ``owns`` *Atlas*). Pure.
"""

from __future__ import annotations

import re
from typing import NamedTuple


class Family(NamedTuple):
    """One relation: its names both ways, and the words by which a question asks for it.

    ``verbs`` stand between a subject and an object; ``nouns`` name the object ("the owner of X" asks for
    the object of X `owner`). ``back`` are verbs and nouns of the inverse.
    """

    names: frozenset[str]
    inverse: frozenset[str] = frozenset()
    verbs: str = ""
    nouns: str = ""
    back: str = ""  # verbs of the inverse
    back_nouns: str = ""
    both: bool = False  # it holds both ways


def _set(text: str) -> frozenset[str]:
    return frozenset(text.split())


FAMILIES = (
    Family(
        _set(
            "works_with worked_with working_with collaborates_with collaborated_with collaborator collaborators "
            "colleague colleagues coworker teammate 同僚 協力者 共同作業者 一緒に働いた 仕事仲間"
        ),
        verbs=r"work(?:s|ed|ing)?(?: together| closely)? with|collaborat\w+(?: with)?|work(?:s|ed|ing)? (?:alongside|together)|"
        r"(?:一緒に|共に|ともに|協力して)?(?:働[いきくけ]|仕事を?し)\w*|協力\w*",
        nouns=r"colleagues?|co-?workers?|collaborators?|teammates?|同僚|協力者|仕事仲間",
        both=True,
    ),
    Family(
        _set("part_of belongs_to member_of 一部 所属 属する 親 上位 up parent"),
        _set("has_part contains includes consists_of members member parts child children down 構成要素 含む 子"),
        verbs=r"(?:is |are |was |were )?(?:a )?(?:part of|member of)|belong(?:s|ed)? to|属し\w*|属する|所属\w*|一部",
        nouns=r"parents?|親",
        back=r"contain(?:s|ed)?|includ(?:es|ed|e)|consists? of|含む|含んで\w*|含まれ\w*|構成\w*",
        back_nouns=r"(?<!a )(?<!is )(?<!are )parts|members|children|構成要素|メンバー",
    ),
    Family(
        _set("caused_by because_of due_to cause 原因"),
        _set("causes caused leads_to led_to results_in effect 結果 引き起こす 引き起こした"),
        verbs=r"caused by|because of|due to|result(?:s|ed)? from",
        nouns=r"causes? of|reasons? for|原因|理由",
        back=r"causes?(?! of)|caused(?! by)|le(?:ad|d)s? to|result(?:s|ed)? in|引き起こ\w*|もたらし\w*",
        back_nouns=r"effects? of|consequences? of|影響|結果",
    ),
    Family(
        _set("supersedes superseded replaces replaced 置き換える 旧版 前の版"),
        _set("superseded_by replaced_by 後継 新版"),
        verbs=r"supersedes?|replac(?:es?|ed)(?! by)|superseded(?! by)|置き換え(?:た|る)|取って代わ\w*",
        back=r"(?:superseded|replaced) by|置き換えられ\w*",
        back_nouns=r"successors?|後継|後任",
        nouns=r"predecessors?|前任|旧版",
    ),
    Family(
        _set("depends_on requires needs uses used 依存 依存先 前提 使う 利用"),
        _set("required_by used_by needed_by blocks 利用者 使われる"),
        verbs=r"depend(?:s|ed)? (?:up)?on|requires?|needs?|us(?:es|ed|e)(?! by)|依存\w*|利用\w*|使って\w*|使う",
        nouns=r"dependenc(?:y|ies)|requirements?|依存先|前提",
        back=r"(?:required|used|needed) by",
        back_nouns=r"users?|利用者",
    ),
    Family(
        _set("owner owned_by owners responsible maintainer maintained_by lead led_by assignee 担当 担当者 責任者 所有者 管理者"),
        _set("owns responsible_for maintains leads manages 担当する 所有する"),
        verbs=r"(?:owned|maintained|led|managed) by",
        nouns=r"owners?|maintainers?|person in charge|lead(?=s? of)|responsible(?! for)|担当者?|責任者|所有者|管理者|持ち主",
        back=r"owns?|owned(?! by)|maintains?|responsible for|in charge of|manages?|担当(?:して|する|した)\w*",
    ),
    Family(
        _set("reports_to manager boss supervisor 上司"),
        _set("manages supervises reports 部下"),
        verbs=r"reports? to|reported to|報告\w*",
        nouns=r"managers?|boss(?:es)?|supervisors?|上司",
        back=r"supervises?|supervised",
        back_nouns=r"reports of|部下",
    ),
    Family(
        _set("works_on worked_on working_on works_at works_for worked_for worked_at employer project projects 勤務先 プロジェクト 参加 職場"),
        _set("team staff participants participant employees 参加者 社員"),
        verbs=r"work(?:s|ed|ing)? (?:on|at|for|in)|employed by|参加\w*|勤め\w*|勤務\w*|取り組\w*|携わ\w*",
        nouns=r"employers?|projects?|勤務先|プロジェクト|職場",
        back_nouns=r"participants?|employees?|staff|team of|参加者|社員",
    ),
    Family(
        _set("created_by author authors written_by made_by founded_by founder 著者 作者 作成者 創業者"),
        _set("created wrote made founded 著書 作品"),
        verbs=r"(?:created|written|made|founded|built) by",
        nouns=r"authors?|creators?|founders?|著者|作者|作成者|創業者",
        back=r"wrote|created(?! by)|made(?! by)|founded(?! by)|built(?! by)|書いた|作った|創業した",
    ),
    Family(
        _set("located_in lives_in lives_at location place based_in 場所 所在地 住所 住まい"),
        verbs=r"(?:located|based|liv(?:es?|ed|ing)) (?:in|at)|住んで\w*|住む|ある場所",
        nouns=r"locations?|place of|where|場所|所在地|住所|どこ",
    ),
    Family(
        _set("married_to spouse wife husband partner friend friend_of knows met sibling 配偶者 友人 友達 妻 夫 兄弟 知人"),
        verbs=r"married to|knows?|knew|met|friends with|結婚\w*|知り合\w*|会っ[たて]|知って\w*",
        nouns=r"spouse|wife|husband|partners?|friends?|siblings?|配偶者|友人|友達|知人|妻|夫|兄弟",
        both=True,
    ),
    Family(
        _set("relates_to related related_to see_also see links_to 関連 関係 参照"),
        verbs=r"relat(?:es?|ed) to|link(?:s|ed)? to|related|関連\w*|関係\w*",
        nouns=r"relations?|関連|関係",
        both=True,
    ),
)  # fmt: skip


def family_of(relation: str) -> Family | None:
    """Give the family of a relation's name.

    >>> family_of("owns") is family_of("owner"), family_of("tastes_like")
    (True, None)
    """
    return next((one for one in FAMILIES if relation in one.names or relation in one.inverse), None)


class Match(NamedTuple):
    """Words of a question that ask for a family: where they stand, and how.

    ``flipped``: they are words of its inverse. ``noun``: they name what is asked for.
    """

    start: int
    end: int
    family: Family
    flipped: bool
    noun: bool


def matches(text: str) -> list[Match]:
    """Find what relations a question asks for, in its order; the longer words win.

    >>> [sorted(match.family.names)[0] for match in matches("who works with the owner of ?")]
    ['collaborated_with', 'assignee']
    """
    found = [match for family in FAMILIES for match in _of(family, text.lower())]
    chosen: list[Match] = []
    for match in sorted(found, key=lambda one: (one.start - one.end, one.start)):
        if all(match.end <= other.start or other.end <= match.start for other in chosen):
            chosen.append(match)
    return sorted(chosen, key=lambda one: one.start)


def _of(family: Family, text: str) -> list[Match]:
    words = (
        (family.verbs, False, False), (family.nouns, False, True),
        (family.back, True, False), (family.back_nouns, True, True),
    )  # fmt: skip
    return [
        Match(found.start(), found.end(), family, flipped, noun)
        for pattern, flipped, noun in words
        if pattern
        for found in re.finditer(rf"(?<![a-z])(?:{pattern})(?![a-z])", text)
    ]
