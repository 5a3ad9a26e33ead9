// ------------------------------------------------------------------ one environment

class Detail {
  // `changed` is called whenever another environment, or none, is enlarged.
  constructor(recording, painter, timeline, neighbours, changed) {
    Object.assign(this, { recording, painter, timeline, neighbours, changed });
    this.dialog = byId("detail");
    this.e = -1;
    this.tick = -1;
    this.dialog.addEventListener("click", (event) => {
      if (event.target === this.dialog) this.dialog.close();
    });
    this.dialog.addEventListener("close", () => {
      const opener = document.querySelector(
        `.card[data-env="${recording.envs[this.e]}"] .open`);
      this.e = -1;
      if (opener) opener.focus();
      this.changed();
    });
    this.#build();
  }

  get isOpen() { return this.e >= 0; }

  #build() {
    const button = (label, picture, act) => {
      const node = el("button", { type: "button", "aria-label": label, title: label },
        icon(picture));
      node.addEventListener("click", act);
      return node;
    };
    this.title = el("h2", { id: "detail-title" });
    this.badges = el("span", { className: "badges" });
    this.play = el("button", { type: "button", className: "main", autofocus: true });
    this.play.addEventListener("click", () => this.timeline.play());
    this.canvas = el("canvas", { role: "img" });
    this.text = el("pre", { className: "view" });
    this.log = el("div", { className: "log", tabIndex: 0, role: "group",
      "aria-label": "Conversation" });
    this.stage = el("div", { className: "stage" }, this.canvas, this.text, this.log);
    this.facts = el("dl", { className: "table" });
    this.infos = el("dl", { className: "table" });
    this.moves = el("ol", { className: "moves" });
    this.side = el("div", { className: "side" },
      el("h3", {}, "Now"), this.facts, el("h3", {}, "Infos"), this.infos,
      el("h3", {}, "Steps of this episode"), this.moves);
    this.dialog.append(
      el("div", { className: "bar" }, this.title, this.badges,
        el("span", { className: "space" }),
        button("One step back (←)", "back", () => this.timeline.go(this.timeline.tick - 1)),
        this.play,
        button("One step forward (→)", "forward", () => this.timeline.go(this.timeline.tick + 1)),
        button("Environment before ([)", "up", () => this.#move(-1)),
        button("Environment after (])", "down", () => this.#move(1)),
        button("Close (Esc)", "close", () => this.dialog.close())),
      el("div", { className: "columns" }, this.stage, this.side));
  }

  open(e) {
    this.e = e;
    this.tick = -1;
    this.lastFrame = -1;
    this.lastStart = -2;
    if (!this.dialog.open) this.dialog.showModal();
    this.update(this.timeline.tick);
    this.changed();
  }

  #move(by) {
    const envs = this.neighbours();
    const place = envs.indexOf(this.e) + by;
    if (place >= 0 && place < envs.length) this.open(envs[place]);
  }

  key(name) {
    if (name === "[") this.#move(-1);
    if (name === "]") this.#move(1);
  }

  update(tick) {
    if (!this.isOpen) return;
    showPlaying(this.play, this.timeline.isPlaying);
    const { recording, e } = this, t = recording.latest(e, tick);
    if (t < 0) return;
    const differs = recording.differenceEnv === e && tick >= recording.differenceTick;
    if (t === this.lastFrame && tick === this.tick) return;
    this.tick = tick;
    setText(this.title, `Environment ${recording.envs[e]}`);
    this.badges.replaceChildren(badge(recording, e, t));
    if (differs) this.badges.append(differenceBadge());
    const start = recording.start(e, t), text = recording.text(e, t);
    if (recording.isText) this.#talk(start, t);
    else {
      const isDrawn = this.painter.draw(this.canvas, e, t, 720);
      if (isDrawn || text !== null) {
        this.canvas.hidden = !isDrawn;
        this.text.hidden = text === null;
      }
      if (isDrawn) this.canvas.setAttribute("aria-label", describe(recording, e, t));
      if (text !== null) setText(this.text, text);
    }
    this.log.hidden = !recording.isText;
    if (recording.isText) this.canvas.hidden = this.text.hidden = true;
    this.#table(this.facts, this.#now(t));
    const infos = recording.infosOf(e, t)
      .filter(([name]) => !(recording.isText && name === "env_instruction"));
    this.#table(this.infos, infos.length ? infos : [["none", ""]]);
    this.#list(start, t);
    this.lastFrame = t;
  }

  #now(t) {
    const { recording, e } = this, f = recording.flags(e, t), pairs = [];
    pairs.push(["episode", String(recording.episode(e, t))],
      ["step of the episode", String(recording.length(e, t))],
      ["step of the batch", String(recording.arrays.steps[t])]);
    if (f & STEP) {
      if (!recording.isText) pairs.push(["action", recording.action(e, t) ?? ""]);
      pairs.push(["reward", String(recording.reward(e, t))],
        ["sum of rewards", number(recording.sum(e, t))]);
      if (f & (TERMINATED | TRUNCATED)) {
        pairs.push(["end", f & TERMINATED ? (f & TRUNCATED ? "terminated, truncated"
          : "terminated") : "truncated"]);
      }
      if (f & SAYS_SUCCESS) pairs.push(["success", f & SUCCESS ? "yes" : "no"]);
    }
    const fault = recording.fault(e, t);
    if (fault) pairs.push(["fault", fault]);
    return pairs;
  }

  #table(list, pairs) {
    list.replaceChildren(...pairs.flatMap(([name, value]) =>
      [el("dt", {}, name), el("dd", { dir: "auto" }, show(value))]));
  }

  #talk(start, t) {
    const { recording, e, log } = this;
    let from = this.lastFrame + 1;
    if (start !== this.lastStart || this.lastFrame > t) {
      log.replaceChildren();
      from = Math.max(0, start);
    }
    for (let k = from; k <= t; k++) {
      if (recording.flags(e, k)) log.append(...messages(recording, this.painter, e, k, 0));
    }
    scrollToAnswer(log);
  }

  // A button a step of this episode, to its end; a click goes there.
  #list(start, t) {
    const { recording, e } = this;
    if (start !== this.lastStart) {
      this.lastStart = start;
      const items = [];
      for (let k = Math.max(0, start); k < recording.numTicks; k++) {
        if (recording.start(e, k) !== start) break;
        if (!recording.flags(e, k)) continue;
        const isReset = recording.flags(e, k) & RESET;
        const [word] = clip(isReset ? "start" : recording.action(e, k) ?? "", 30);
        const reward = isReset ? "" : ` ${number(recording.reward(e, k))}`;
        const node = el("button", { type: "button" }, word || "(empty)",
          el("small", {}, reward));
        node.dataset.tick = k;
        node.dataset.state = recording.state(e, k);
        node.addEventListener("click", () => this.timeline.go(k));
        items.push(el("li", {}, node));
      }
      this.moves.replaceChildren(...items);
    }
    for (const node of this.moves.querySelectorAll("button")) {
      const isNow = Number(node.dataset.tick) === t;
      if (isNow !== node.hasAttribute("aria-current")) {
        if (isNow) node.setAttribute("aria-current", "step");
        else node.removeAttribute("aria-current");
      }
    }
  }
}
