// ------------------------------------------------------------------ the view of an environment

// A board or picture, a text, or a conversation, in a card or in the enlarged view.
class Stage {
  #e = -1;
  #last = -1;

  // The limits: the pixels of a board, the characters of a text, the steps of a
  // conversation; 0 characters: texts are whole, and stand below a board as well.
  constructor(recording, painter, name, limits) {
    Object.assign(this, { recording, painter, limits });
    if (recording.isText) {
      this.root = el("div", { className: "log", tabIndex: 0, role: "group",
        "aria-label": `Conversation${name}` });
    } else {
      this.canvas = el("canvas", { role: "img", "aria-label": `Board${name}`, hidden: true });
      this.text = el("pre", { className: "view", hidden: true });
      this.root = el("div", { className: "stage" }, this.canvas, this.text);
    }
  }

  show(e, t) {
    if (e === this.#e && t === this.#last) return;
    if (this.recording.isText) this.#talk(e, t);
    else this.#draw(e, t);
    this.#e = e;
    this.#last = t;
  }

  #draw(e, t) {
    const { recording, limits } = this, text = recording.text(e, t);
    const isDrawn = this.painter.draw(this.canvas, e, t, limits.pixels);
    const hasText = text !== undefined && !(isDrawn && limits.characters);
    // The last picture of an episode may be missing: the one before it stays.
    if (!isDrawn && !hasText) return;
    this.canvas.hidden = !isDrawn;
    this.text.hidden = !hasText;
    if (hasText) setText(this.text, clip(text, limits.characters)[0]);
  }

  // Add the messages since the last frame, or begin anew.
  #talk(e, t) {
    const { recording, limits, root } = this;
    const first = recording.start(e, t), start = Math.max(first, t - limits.steps);
    let from = this.#last + 1;
    if (e !== this.#e || from <= start || from > t) {
      from = start;
      root.replaceChildren();
      if (start > first) {
        root.append(el("div", { className: "rule" }, "enlarge it to read the earlier steps"));
      }
    }
    for (let k = from; k <= t; k++) {
      if (recording.flags(e, k)) {
        root.append(...messages(recording, this.painter, e, k, limits.characters));
      }
    }
    // Show the last answer and what follows; a long observation would hide its answer.
    const answer = [...root.querySelectorAll(".answer")].at(-1);
    root.scrollTop = answer ? answer.offsetTop - 8 : 0;
  }
}

function badges(recording, e, t, tick) {
  const state = recording.state(e, t), [picture, word] = STATES[state], nodes = [];
  const add = (kind, name, text) => nodes.push(el("span",
    { className: "badge", "data-state": kind, title: text }, icon(name),
    el("span", { className: "word" }, ` ${text}`)));
  if (recording.differs(e, tick)) add("difference", "differs", "differs from the file");
  if (state !== "playing") {
    const isCut = recording.flags(e, t) & TRUNCATED && state !== "fault";
    add(state, picture, isCut ? `${word}, cut off` : word);
  }
  return nodes;
}
