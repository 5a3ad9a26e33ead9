// ------------------------------------------------------------------ conversations

// Infos that a conversation shows in a place of their own.
const SPOKEN = ["env_instruction", "action_content", "action_is_valid", "think_content",
  "success"];

function body(text, length, className = "body") {
  const [part, more] = clip(text, length);
  return el("div", { className, dir: "auto" }, part,
    more ? el("span", { className: "more" }, ` … ${plural(more, "more character")}`) : null);
}

// The messages of one frame.  A length cuts long texts.
function messages(recording, painter, e, t, length) {
  const nodes = [], infos = Object.fromEntries(recording.infosOf(e, t));
  if (recording.flags(e, t) & RESET) {
    nodes.push(el("div", { className: "rule" }, `episode ${recording.episode(e, t)}`));
    if (infos.env_instruction) {
      nodes.push(el("details", { className: "message instruction", open: !length },
        el("summary", {}, "Instruction"), body(show(infos.env_instruction), 0)));
    }
  } else {
    nodes.push(answer(recording.action(e, t), infos, length), result(recording, e, t));
  }
  nodes.push(observation(recording, painter, e, t, length));
  return nodes.filter(Boolean);
}

function answer(text, infos, length) {
  const { action_content: content, action_is_valid: isValid, think_content: think } = infos;
  const node = el("div", { className: "message answer" },
    el("span", { className: "who" }, "Answer"),
    text ? body(text, length) : el("em", {}, "(empty)"));
  if (think) {
    node.append(el("details", { className: "think" },
      el("summary", {}, "Thinking"), body(show(think), length)));
  }
  const parsed = el("div", { className: "parsed" });
  if (isValid !== undefined) {
    parsed.append(el("span", { className: "badge", "data-state": isValid ? "success" : "failure" },
      icon(isValid ? "check" : "close"), isValid ? " valid" : " not valid"));
  }
  if (content !== undefined) {
    const [part, more] = clip(show(content), length && 200);
    if (!content) parsed.append(" nothing parsed");
    else if (content === text) parsed.append(" parsed as written");
    else parsed.append(" parsed as ", el("code", {}, part, more ? " …" : ""));
  }
  if (parsed.hasChildNodes()) node.append(parsed);
  return node;
}

function result(recording, e, t) {
  const reward = recording.reward(e, t), fault = recording.fault(e, t);
  const others = remarks(recording.infosOf(e, t).filter(([name, value]) =>
    !SPOKEN.includes(name) && (value === null || typeof value !== "object")));
  return el("div", { className: "result" },
    el("span", { className: reward > 0 ? "good" : reward < 0 ? "bad" : "" },
      `reward ${number(reward)}`),
    el("span", {}, `sum ${number(recording.sum(e, t))}`), ...badges(recording, e, t, -1),
    others ? el("span", {}, others) : null,
    fault ? el("div", { className: "fault-text" }, fault) : null);
}

function observation(recording, painter, e, t, length) {
  const text = recording.text(e, t);
  const hasPicture = recording.board(e, t) || recording.picture(e, t);
  if (text === undefined && !hasPicture) return null;
  const before = t && !(recording.flags(e, t) & RESET) ? recording.latest(e, t - 1) : -1;
  if (before >= 0 && !hasPicture && recording.text(e, before) === text) {
    return el("div", { className: "rule" }, "the observation stays as it was");
  }
  const node = el("div", { className: "message observation" },
    el("span", { className: "who" }, "Observation"));
  if (hasPicture) {
    const canvas = el("canvas", { role: "img", "aria-label": "Board" });
    painter.draw(canvas, e, t, 128);
    node.append(canvas);
  }
  if (text !== undefined) node.append(body(text, length, hasPicture ? "body board-text" : "body"));
  return node;
}
