// ------------------------------------------------------------------ one environment, enlarged

const DETAIL_LIMITS = { pixels: 720, characters: 0, steps: Infinity };

class Detail {
  constructor(recording, painter, timeline) {
    Object.assign(this, { recording, painter, timeline, e: -1, tick: -1 });
    this.dialog = byId("detail");
    this.dialog.addEventListener("click", (event) => {
      if (event.target === this.dialog) this.dialog.close();
    });
    this.dialog.addEventListener("close", () => {
      document.querySelector(`[data-env="${recording.envs[this.e]}"] .open`).focus();
      this.e = -1;
    });
    this.#build();
  }

  get isOpen() { return this.e >= 0; }

  #build() {
    const { recording, timeline } = this;
    const button = (label, picture, onclick) => el("button",
      { type: "button", "aria-label": label, title: label, onclick }, icon(picture));
    this.title = el("h2", { id: "detail-title" });
    this.badges = el("span", { className: "badges" });
    this.play = el("button", { type: "button", className: "main", autofocus: true,
      onclick: () => timeline.play() });
    this.stage = new Stage(recording, this.painter, "", DETAIL_LIMITS);
    this.facts = el("dl", { className: "table" });
    this.infos = el("dl", { className: "table" });
    this.moves = el("ol", { className: "moves" });
    this.dialog.append(
      el("div", { className: "bar" }, this.title, this.badges,
        el("span", { className: "space" }),
        button("One step back (←)", "back", () => timeline.go(timeline.tick - 1)),
        this.play,
        button("One step forward (→)", "forward", () => timeline.go(timeline.tick + 1)),
        button("Environment before ([)", "up", () => this.move(-1)),
        button("Environment after (])", "down", () => this.move(1)),
        button("Close (Esc)", "close", () => this.dialog.close())),
      el("div", { className: "columns" }, this.stage.root,
        el("div", { className: "side" },
          el("h3", {}, "Now"), this.facts, el("h3", {}, "Infos"), this.infos,
          el("h3", {}, "Steps of this episode"), this.moves)));
  }

  open(e) {
    this.e = e;
    this.tick = this.start = -1;
    if (!this.dialog.open) this.dialog.showModal();
    this.update(this.timeline.tick);
  }

  // Open the environment before or after this one.
  move(by) {
    if (this.isOpen && this.recording.envs[this.e + by] !== undefined) this.open(this.e + by);
  }

  update(tick) {
    if (!this.isOpen) return;
    showPlaying(this.play, this.timeline.isPlaying);
    const { recording, e } = this, t = recording.latest(e, tick);
    if (tick === this.tick) return;
    this.tick = tick;
    setText(this.title, `Environment ${recording.envs[e]}`);
    this.badges.replaceChildren(...badges(recording, e, t, tick));
    this.stage.show(e, t);
    this.#table(this.facts, this.#now(t));
    const infos = recording.infosOf(e, t)
      .filter(([name]) => !(recording.isText && name === "env_instruction"));
    this.#table(this.infos, infos.length ? infos : [["none", ""]]);
    this.#list(t);
  }

  // What happened at a tick, as pairs of names and values.
  #now(t) {
    const { recording, e } = this, f = recording.flags(e, t);
    const ends = [f & TERMINATED && "terminated", f & TRUNCATED && "truncated"];
    const isBoard = f & STEP && !recording.isText;
    return Object.entries({
      "episode": recording.episode(e, t),
      "step of the episode": recording.length(e, t),
      "step of the batch": recording.arrays.steps[t],
      "action": isBoard ? recording.action(e, t) : undefined,
      "reward": f & STEP ? String(recording.reward(e, t)) : undefined,
      "sum of rewards": f & STEP ? number(recording.sum(e, t)) : undefined,
      "end": f & END ? ends.filter(Boolean).join(", ") : undefined,
      "success": f & SAYS_SUCCESS ? (f & SUCCESS ? "yes" : "no") : undefined,
      "fault": recording.fault(e, t),
    }).filter(([, value]) => value !== undefined);
  }

  #table(list, pairs) {
    list.replaceChildren(...pairs.flatMap(([name, value]) =>
      [el("dt", {}, name), el("dd", { dir: "auto" }, show(value))]));
  }

  // A button for each step of this episode, to its end; a click goes there.
  #list(t) {
    const { recording, e } = this, start = recording.start(e, t);
    if (start !== this.start) {
      this.start = start;
      this.moves.replaceChildren();
      for (let k = start; k < recording.numTicks; k++) {
        if (k > start && recording.start(e, k) === k) break;
        if (recording.flags(e, k)) this.moves.append(el("li", {}, this.#step(k)));
      }
    }
    for (const node of this.moves.querySelectorAll("button")) {
      node.setAttribute("aria-current", Number(node.dataset.tick) === t ? "step" : "false");
    }
  }

  #step(k) {
    const { recording, e } = this, isReset = recording.flags(e, k) & RESET;
    const [word] = clip(isReset ? "start" : recording.action(e, k), 30);
    return el("button", { type: "button", "data-tick": k,
      "data-state": recording.state(e, k), onclick: () => this.timeline.go(k) },
    word || "(empty)", isReset ? null : el("small", {}, ` ${number(recording.reward(e, k))}`));
  }
}
