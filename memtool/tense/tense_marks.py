"""The patterns by which a question's time is read, for `tense`. Compiled late: most searches need none."""

# ruff: noqa: E501 - a pattern is read as one line

from __future__ import annotations

import re
from functools import cache

from memtool.tense import calendar_words as words

_YEAR = r"(?:1[0-9]|20|21)[0-9]{2}"
_MONTH = r"(?:jan|feb|mar|apr|may|june?|july?|aug|sept?|oct|nov|dec)[a-z]*\.?"


@cache
def mention() -> re.Pattern[str]:
    part, kanji_part = "|".join(words.PARTS).replace(" ", r"\ "), "|".join(words.KANJI_PARTS)
    return re.compile(
        rf"""(?x)
        (?<![a-z0-9_./:\#-]) (?P<iso>{_YEAR}) [-/.] (?P<iso_month>0?[1-9]|1[0-2])
            (?: [-/.] (?P<iso_day>[0-9]{{1,2}}) )? (?![a-z0-9_/:\#]|[.-]\d)
        | (?<![a-z0-9_./:\#-]) (?: (?P<first>[0-9]{{1,2}}) (?P<sign>[./]) )? (?P<second>[0-9]{{1,2}}) [./]
            (?P<last_year>{_YEAR}) (?![a-z0-9_/:\#]|[.-]\d)
        | (?P<era>令和|平成|昭和|大正|明治|(?<![a-z])[rhs](?=[0-9]{{1,2}}年))? \s?
            (?P<nen>[0-9]{{1,4}}|元) \s? 年 (?!\s?(?:前(?!半)|間|以上|以内|生|目|半前|後|ほど|くらい|ぐらい)) (?P<do>度)?
            (?: \s? の? \s? (?: (?P<gatsu>[0-9]{{1,2}}) \s? 月 (?: \s? (?P<nichi>[0-9]{{1,2}}) \s? 日
                | の? (?P<part4>上旬|中旬|下旬|初め|半ば|末) )?
              | (?P<part2>{kanji_part}) ) )?
        | (?: (?P<day>[0-9]{{1,2}}) (?:st|nd|rd|th)? \s+ (?:of\s+)? )? (?<![a-z])
            (?: (?P<part3>early|mid|late|end\ of|beginning\ of) [\s-]+ )? (?P<month>{_MONTH})
            (?: \s+ (?P<day2>[0-9]{{1,2}}) (?:st|nd|rd|th)? (?![0-9]) )? ,? \s+ (?:of\s+)? (?P<month_year>{_YEAR}) \b
        | \b (?P<decade>(?:1[0-9]|20|21)[0-9]0) s \b
        | \b (?: (?P<quarter_year2>{_YEAR}) [\s,/-]* )? (?P<quarter>[qh][1-4]) (?: [\s,/]* (?:of\s+)? (?P<quarter_year>{_YEAR}) )
        | (?: \b (?P<part>{part}) [\s-]+ (?:of\s+|in\s+|the\s+)* (?:the\s+year\s+)? | (?<![\w./:\#-]) )
            (?P<year>{_YEAR}) (?![a-z0-9_/:\#%]|[.,-]\d)
        | (?<![0-9年]) (?P<only_month>[1-9]|1[0-2]) 月 (?= に | には | の時点 | 当時 | 時点 | 頃 | ごろ | 末 )
        | (?: \b(?:in|back\ in|as\ of|since|until|before|during) \s+ (?:early\ |mid-?\ ?|late\ )? ) (?P<lone>{_MONTH}) (?=\s*(?:$|[,?.!;]|\b(?:what|which|who|where|how|when)\b))
        """
    )


@cache
def kanji_year() -> re.Pattern[str]:
    return re.compile("[〇一二三四五六七八九]{4}(?=年)")


@cache
def relative_year() -> re.Pattern[str]:
    names = sorted((name for names in words.YEARS_BACK.values() for name in names), key=len, reverse=True)
    wide = "|".join(name for name in names if not name.isascii())
    plain = "|".join(name for name in names if name.isascii())
    return re.compile(rf"(?:{wide})度?|\b(?:{plain})\b(?! (?:and|or)\b)")


@cache
def last_named() -> re.Pattern[str]:
    return re.compile(rf"\blast (spring|summer|autumn|fall|winter|{_MONTH})(?= |\?|,|$)(?! [0-9])")


@cache
def joint() -> re.Pattern[str]:
    return re.compile(r"(?:to|and|until|till|through|up to|-|–|—|~|から|より|〜|～|と)[\sの]*(?:の間)?")


@cache
def before() -> re.Pattern[str]:
    return re.compile(r"\b(?:before|prior to|earlier than|until(?: before)?|till|up to)(?: the)?$")


@cache
def after() -> re.Pattern[str]:
    return re.compile(r"\b(?:after|since|from|later than)$")


@cache
def mae() -> re.Pattern[str]:
    return re.compile("(?:より前|以前|よりも前|の前|になる前|まで)")


@cache
def ikou() -> re.Pattern[str]:
    return re.compile("(?:以降|以来|以後|から(?!の)|より後|になってから)")


@cache
def year_before() -> re.Pattern[str]:
    return re.compile(
        r"\b(?:in|mid|early|late|since|by|before|after|during|until|till|through|from|to|and|around|circa"
        r"|as of|throughout|year|season|between|prior to|later than|earlier than)-?$"
    )


@cache
def year_named() -> re.Pattern[str]:
    return re.compile(r"^$|\b(?:the|during the|throughout the)$")


@cache
def no_year() -> re.Pattern[str]:
    return re.compile(
        r"\b(?:port|error|rfc|version|v|room|no|number|server|windows|office|code|line|id|ticket|iso|form)\.?$"
    )


@cache
def unit() -> re.Pattern[str]:
    return re.compile(
        r"\s*(?:yen|円|eur|usd|dollars?|euros?|ms|mb|gb|kb|people|人|個|件|回|名|hits|requests|lines|rows|m\b|km\b"
        r"|pages|words|users|番|号|bytes?|hours|minutes|seconds|°|%)"
    )


@cache
def some_ago() -> re.Pattern[str]:
    many = "|".join(words.NUMBERS)
    return re.compile(
        rf"(?:\b(?P<many>[0-9]{{1,3}}|{many}) (?P<unit>day|week|month|year)s?(?P<half> and a half)? (?:ago|back|earlier)\b"
        r"|(?<![0-9])(?P<many2>[0-9]{1,3}|[一二三四五六七八九十数半]) ?(?P<unit2>日|週間|[かヶカケヵ箇]月|年)(?P<half2>半)?"
        r"(?:ほど|くらい|ぐらい)?前(?!半))"
    )


@cache
def past() -> re.Pattern[str]:
    return re.compile(
        r"\b(?:was|were|wasn't|weren't|used to|had been|had)\b|\bdid\b(?! (?:we|they|you|i) (?:decide|agree|choose|settle|pick))"
        r"|\b(?:who|which [\w-]+|what [\w-]+) (?:\w{3,}ed|led|ran|held|kept|wrote|took|sent|sold|paid)\b"
        r"|だった|でした|であった|ていた|ていました|でいた|でいました|なかった|あった"
    )


@cache
def now() -> re.Pattern[str]:
    return re.compile(
        r"\b(?:now|currently|today|at present|these days|nowadays|still)\b|現在|今は|いまは|今の|今でも"
    )


@cache
def earlier() -> re.Pattern[str]:
    return re.compile(
        r"\b(?:formerly|previously|used to|former|previous|back then|at th(?:e|at) time|in the past|the old"
        r"|in those days|no longer)\b|\bex-(?=\w)|\bpredecessor|以前|かつて|昔|先代|前回|前任|従来|旧(?!約|姓)|当時|(?:^|の)[前元](?=[一-龯]{2})(?!.[後日月年期方面金気号本来々])(?!前[提払半])|(?<![一-龯])前(?:の(?!日)|は)"
    )


@cache
def first() -> re.Pattern[str]:
    return re.compile(
        r"\b(?:originally|original|initially|at first|in the beginning)\b|当初|元々|もともと|最初は|最初の"
    )


@cache
def by_event() -> re.Pattern[str]:
    return re.compile(
        r"\b(?P<side>before|prior to|until|till|after|since|following) (?:(?:the|our|their|its|that|we|they|it)\s+)+"
        r"(?P<event>[a-z][\w' -]{2,40}?)(?=\s*(?:[?.,!;]|$|\b(?:what|which|who|where|how|when|was|were|did|is)\b))"
        r"|(?P<koto>[一-龯ァ-ヶーa-z0-9]{2,12})(?:の|する|した|される|された|より|よりも)?(?<![名手午目直以年月日人])(?P<mae>前|後)(?=の(?!日)|は|、|に|まで|で)"
    )


@cache
def procedure() -> re.Pattern[str]:
    """Find what speaks of how to do something: its "before" is an order of steps, no time."""
    return re.compile(
        r"\b(?:must|should|need|needs|have to|has to|can|do i|do we|does one|how do|how to|may)\b|前に|後に|べき|必要"
    )
