"""Texts in many scripts and shapes, and how far an estimate may be from a tokenizer's count."""

from __future__ import annotations

import base64
import json
import random
import string
from dataclasses import dataclass

_RANDOM = random.Random(20_261)
_BYTES = _RANDOM.randbytes(6_000)


@dataclass(frozen=True)
class Sample:
    """A text, and the least and greatest ratio of estimate to `cl100k_base` count."""

    name: str
    text: str
    least: float
    most: float

    def __str__(self) -> str:
        return self.name


SAMPLES = [
    Sample(
        "english",
        "When a conversation outgrows the window, the oldest tool results go first, because nobody "
        "reads them twice; what was decided stays, and the newest question is never touched. " * 4,
        0.8,
        1.15,
    ),
    Sample(
        "german",
        "Sobald das Gespräch größer wird als das Fenster, verschwinden zuerst die ältesten "
        "Ergebnisse der Werkzeuge; was beschlossen wurde, bleibt für alle Zeit erhalten. " * 4,
        0.7,
        1.1,
    ),
    Sample(
        "chinese",
        "当对话超过上下文窗口时，先清理最旧的工具结果，因为没有人会再读第二遍；已经做出的决定必须保留，"
        "最新的用户消息一个字也不能改。" * 6,
        0.6,
        1.1,
    ),
    Sample(
        "japanese",
        "会話がウィンドウより大きくなると、いちばん古いツールの結果から片付けられます。決まったことは残り、"
        "最後の質問はそのままです。" * 6,
        0.6,
        1.2,
    ),
    Sample(
        "korean",
        "대화가 창보다 커지면 가장 오래된 도구 결과부터 정리하고, 이미 내려진 "
        "결정과 마지막 질문은 그대로 남겨 둡니다. " * 6,
        0.6,
        1.2,
    ),
    Sample(
        "russian",
        "Когда разговор становится больше окна, сначала убирают самые старые результаты, а "
        "принятые решения и последний вопрос остаются без изменений. " * 5,
        0.85,
        1.5,
    ),
    Sample(
        "arabic",
        "عندما تصبح المحادثة أكبر من النافذة تزال أقدم نتائج الأدوات أولا، أما القرارات والسؤال "
        "الأخير فتبقى كما هي دون تغيير. " * 5,
        0.5,
        1.1,
    ),
    Sample(
        "hindi",
        "जब बातचीत खिड़की से बड़ी हो जाती है, तो सबसे पुराने परिणाम पहले हटाए जाते हैं, और लिए गए निर्णय तथा "
        "अंतिम प्रश्न वैसे ही रहते हैं। " * 5,
        0.45,
        1.1,
    ),
    Sample("emoji", "🎉🚀🔥😀👍🙏📌💡🧪🗂️👩🏽‍💻👨‍👩‍👧‍👦" * 20, 0.45, 1.3),
    Sample(
        "code",
        "def fold(chunks: list[Chunk], *, limit: int) -> Iterator[Summary]:\n"
        "    for index, chunk in enumerate(chunks):\n"
        "        if chunk.tokens > limit:\n"
        "            yield from fold(split(chunk, limit), limit=limit)\n"
        "        else:\n"
        "            yield Summary(text=summarise(chunk), covers=range(index, index + 1))\n" * 6,
        0.8,
        1.25,
    ),
    Sample(
        "json",
        json.dumps([{"id": n, "name": f"item {n}", "ok": n % 3 == 0} for n in range(60)]),
        0.75,
        1.35,
    ),
    Sample(
        "indented json",
        json.dumps(
            [{"id": n, "name": f"item {n}", "tags": ["a", "b"]} for n in range(40)], indent=4
        ),
        0.6,
        1.3,
    ),
    Sample("base64", base64.b64encode(_BYTES).decode(), 0.85, 1.1),
    Sample("hexadecimal", _BYTES.hex(), 0.8, 1.15),
    Sample("digits", "".join(_RANDOM.choices(string.digits, k=4_000)), 0.9, 2.5),
    Sample("table", ("name".ljust(40) + "value".ljust(40) + "note\n") * 60, 0.6, 1.8),
    Sample("spaces", " " * 4_000, 0.5, 4.0),
    Sample("drawn lines", ("=" * 70 + "\n" + "-" * 70 + "\n") * 20, 0.5, 3.5),
]
