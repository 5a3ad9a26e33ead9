// ------------------------------------------------------------------ the cards of the grid

const CARD_LIMITS = { pixels: 260, characters: 700, steps: 24 };

class Card {
  constructor(recording, painter, e, open) {
    Object.assign(this, { recording, e, tick: -1, isNear: false });
    const env = recording.envs[e], opener = el("button", { type: "button",
      className: "open", "aria-label": `Enlarge environment ${env}` }, `#${env}`);
    this.badges = el("span", { className: "badges" });
    this.count = el("span", { className: "count" });
    this.stage = new Stage(recording, painter, ` of environment ${env}`, CARD_LIMITS);
    const top = el("div", { className: "top" }, opener, this.count);
    this.root = el("article", { className: "card", "aria-label": `Environment ${env}`,
      "data-env": env }, top, this.stage.root);
    this.root.addEventListener("click", ({ target }) => {
      const isReading = target.closest("summary") || String(getSelection());
      if (target === opener || !isReading) open(e);
    });
    if (recording.isText) {
      top.append(this.badges);
      return;
    }
    this.action = el("strong", { className: "action" });
    this.reward = el("span", { className: "reward" });
    this.sum = el("span", { className: "sum" });
    this.infos = el("span", { className: "infos" });
    this.root.append(el("div", { className: "facts" }, this.action, this.reward),
      el("div", { className: "bottom" }, this.badges, this.infos, this.sum));
  }

  update(tick) {
    if (!this.isNear || tick === this.tick) return;
    const { recording, e } = this, t = recording.latest(e, tick);
    this.tick = tick;
    this.root.classList.toggle("differs", recording.differs(e, tick));
    this.root.dataset.state = recording.state(e, t);
    this.badges.replaceChildren(...badges(recording, e, t, tick));
    setText(this.count, `ep ${recording.episode(e, t)} · step ${recording.length(e, t)}`);
    this.stage.show(e, t);
    if (!recording.isText) this.#facts(t);
  }

  #facts(t) {
    const { recording, e } = this, isReset = recording.flags(e, t) & RESET;
    const reward = recording.reward(e, t);
    setText(this.action, isReset ? "reset" : recording.action(e, t));
    this.action.classList.toggle("muted", Boolean(isReset));
    setText(this.reward, isReset ? "" : `${reward > 0 ? "+" : ""}${number(reward)}`);
    setText(this.sum, `sum ${number(recording.sum(e, t))}`);
    setText(this.infos, recording.fault(e, t) ?? remarks(recording.infosOf(e, t)));
  }
}

// Infos in one line, without what is said elsewhere, or always true.
function remarks(pairs) {
  return pairs.filter(([name, value]) => name !== "env_instruction" && name !== "success"
    && !(["action_is_effective", "action_is_valid"].includes(name) && value === true))
    .map(([name, value]) => {
      if (name === "action_is_effective") return "no effect";
      if (name === "action_is_valid") return "action not valid";
      if (typeof value === "boolean") return value ? name : `not ${name}`;
      const text = typeof value === "number" ? number(value) : show(value);
      return `${name} ${clip(text, 40)[0]}`;
    }).join(" · ");
}
