"""The findings as one HTML page, without any other file, script and network.

All texts of files and environments are escaped.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from html import escape
from importlib.resources import files

from roll_vec.evaluation.diagnosis.examples import Example
from roll_vec.evaluation.diagnosis.findings import Finding, percent
from roll_vec.evaluation.diagnosis.ranking import Diagnosis

_POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"
# The longest part of an observation or an answer.
_MAX_CHARS = 4000
_LEGEND = (
    "Share: what the finding has cost of the lost return; shares overlap. Weight: of "
    "findings that spoil episodes whatever the policy does, their share of all "
    "episodes; of others, of the best return. Findings that follow from another one "
    "stand last."
)


def make_page(diagnosis: Diagnosis) -> str:
    """Return the page; the same diagnosis gives the same text."""
    style = files(__package__).joinpath("page.css").read_text("utf-8")
    parts = [
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">',
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        f"<title>roll-vec diagnose</title>\n<style>\n{style}</style>\n</head>\n<body>",
        "<h1>Diagnosis</h1>",
        *(f'<p class="muted">{escape(line)}</p>' for line in diagnosis.summary()),
        f'<p class="verdict">{escape(diagnosis.verdict())}</p>',
    ]
    if diagnosis.findings:
        parts.append(_table(diagnosis))
    parts += [_section(each, diagnosis.examples) for each in diagnosis.outstanding]
    return "\n".join([*parts, "</body>\n</html>\n"])


def _table(diagnosis: Diagnosis) -> str:
    rows = [
        "<table><thead><tr><th>finding</th><th class=number>count</th><th "
        "class=number>share of the lost return</th><th>weight</th></tr></thead><tbody>"
    ]
    for finding in diagnosis.findings:
        title, small = escape(finding.kind.title), ' class="small"'
        if finding.stands_out:
            title, small = f'<a href="#{finding.kind.name}">{title}</a>', ""
        if finding.stands_out and finding.follows is not None:
            title += f"<br>follows from: {escape(finding.follows.title)}"
        width = round(90 * finding.weight)
        rows.append(
            f"<tr{small}><td>{title}</td>"
            f'<td class="number">{escape(finding.count())}</td>'
            f'<td class="number">{percent(finding.share)}</td><td>'
            f'<span class="bar" style="width:{width}px"></span>'
            f"{percent(finding.weight)}</td></tr>"
        )
    rows.append("</tbody></table>")
    rows.append(f'<p class="muted">{_LEGEND}</p>')
    rest = len(diagnosis.findings) - len(diagnosis.outstanding)
    if rest:
        rows.append('<p class="muted">Rows in grey do not stand out.</p>')
    return "\n".join(rows)


def _section(finding: Finding, examples: Mapping[int, Example]) -> str:
    kind = finding.kind
    lines = [
        f'<section id="{kind.name}"><h2>{escape(kind.title)}</h2>',
        f'<p class="muted">{_with_code(kind.meaning)}</p>',
        f"<p>{escape(finding.count())}, {percent(finding.share)} of the lost return",
    ]
    items = "".join(f"<li>{escape(text)}</li>" for text in finding.hits.details)
    lines.append(f"</p><ul>{items}</ul>")
    if finding.follows is not None:
        lines.append(f"<p>It follows from: {escape(finding.follows.title)}.</p>")
    lines.append(f'<p class="change">What to change: {_with_code(kind.advice)}</p>')
    figures = [_figure(examples[turn]) for turn in finding.examples]
    lines.append(f'<div class="examples">{"".join(figures)}</div></section>')
    return "\n".join(lines)


def _figure(example: Example) -> str:
    facts = ", ".join(example.facts)
    caption = f"{example.place}, turn {example.turn}: {facts}"
    lines = [f"<figure><figcaption>{escape(caption)}</figcaption>"]
    if example.picture is not None:
        lines.append(f'<img alt="the board before the answer" src="{example.picture}">')
    else:
        lines.append(f"<pre>{escape(example.board[:_MAX_CHARS])}</pre>")
    answer, fault = example.answer, example.fault
    text = escape(answer[:_MAX_CHARS])
    if fault is not None:
        head = answer[max(fault.start - _MAX_CHARS // 2, 0) : fault.start]
        tail = answer[fault.stop : fault.stop + _MAX_CHARS // 2]
        wrong = answer[fault.start : min(fault.stop, fault.start + _MAX_CHARS)]
        text = f"{escape(head)}<mark>{escape(wrong)}</mark>{escape(tail)}"
    lines.append(f'<pre class="answer">{text}</pre>')
    if fault is not None:
        lines.append(f"<p>{escape(fault.reason)}, at character {fault.start}</p>")
    return "".join([*lines, "</figure>"])


def _with_code(text: str) -> str:
    """Return an escaped text whose parts in backticks are code."""
    return re.sub(r"`([^`]*)`", r"<code>\1</code>", escape(text))
