// ------------------------------------------------------------------ the page

class Page {
  constructor(recording) {
    this.recording = recording;
    this.timeline = new Timeline(recording, (tick) => this.show(tick));
    const painter = new Painter(recording);
    this.detail = new Detail(recording, painter, this.timeline);
    this.cards = recording.envs.map((_, e) =>
      new Card(recording, painter, e, (env) => this.detail.open(env)));
    this.groups = [];
    this.#head();
    this.#banner();
    this.#layOut();
    connect(this);
    this.show(0);
  }

  // ---- what stands above the environments

  #head() {
    const { recording } = this, { flags } = recording.arrays;
    const count = (kind) => flags.reduce((sum, f) => sum + Boolean(EVENTS[kind](f)), 0);
    const faults = count("fault");
    const facts = [plural(recording.envs.length, "environment"),
      plural(recording.lastStep, "step"), `${plural(count("end"), "episode")} ended`];
    if (flags.some((f) => f & SAYS_SUCCESS && f & END)) {
      facts.push(plural(count("success"), "success", "successes"));
    }
    if (faults) facts.push(plural(faults, "fault"));
    facts.push(...recording.details.map((pair) => pair.join(" ")));
    setText(byId("title"), recording.id);
    byId("facts").replaceChildren(...facts.map((fact) => el("span", {}, fact)));
  }

  #banner() {
    const { difference, isReplay, lastStep } = this.recording, banner = byId("banner");
    banner.hidden = !isReplay && !difference;
    if (!difference) {
      banner.dataset.state = "success";
      banner.replaceChildren(icon("check"), " Played again, and identical to the file, bit by "
        + `bit: all results of ${plural(lastStep, "step")}.`);
      return;
    }
    const env = difference.env_id === null ? "unknown environment" : `environment ${difference.env_id}`;
    const jump = el("button", { type: "button", onclick: () => this.goToDifference() },
      "Go there (d)");
    banner.dataset.state = "difference";
    banner.setAttribute("role", "alert");
    banner.replaceChildren(el("strong", {}, icon("differs"), " First difference "),
      `step ${difference.step}, ${env}, `, el("code", {}, difference.field), ": recorded ",
      el("code", {}, difference.recorded), ", now ", el("code", {}, difference.present), " ", jump);
  }

  // ---- the environments, and the groups of those that play one task

  #layOut() {
    const { recording, cards } = this, { envs, groupSize } = recording, main = byId("envs");
    main.replaceChildren();
    main.classList.toggle("grouped", groupSize > 1);
    main.classList.toggle("texts", recording.isText);
    for (const card of cards) {
      if (groupSize === 1) {
        main.append(card.root);
        continue;
      }
      const number = Math.floor(envs[card.e] / groupSize);
      if (this.groups.at(-1)?.number !== number) {
        this.groups.push(this.#group(number));
        main.append(this.groups.at(-1).root);
      }
      this.groups.at(-1).cards.push(card);
      this.groups.at(-1).row.append(card.root);
    }
    // Only cards near the screen are drawn.
    const byRoot = new Map(cards.map((card) => [card.root, card]));
    const observer = new IntersectionObserver((entries) => {
      for (const entry of entries) {
        const card = byRoot.get(entry.target);
        card.isNear = entry.isIntersecting;
        card.update(this.timeline.tick);
      }
    }, { rootMargin: "200px" });
    for (const card of cards) observer.observe(card.root);
  }

  // An empty group.
  #group(number) {
    const { groupSize } = this.recording, first = number * groupSize, id = `group-${number}`;
    const row = el("div", { className: "row" }), score = el("span", { className: "score" });
    const root = el("section", { className: "siblings", "aria-labelledby": id },
      el("h2", { id }, `Group ${number}`,
        el("small", {}, ` environments ${first}–${first + groupSize - 1}, one task`), score),
      row);
    return { number, cards: [], root, row, score };
  }

  #score(group, tick) {
    const { recording } = this;
    const frames = group.cards.map(({ e }) => [e, recording.latest(e, tick)]);
    const sums = frames.map(([e, t]) => recording.sum(e, t));
    const mean = sums.reduce((total, each) => total + each, 0) / sums.length;
    const successes = frames.filter(([e, t]) => recording.state(e, t) === "success").length;
    setText(group.score, `sum: mean ${number(mean)}, best ${number(Math.max(...sums))} · `
      + `successes now ${successes}`);
  }

  // ---- time

  show(tick) {
    const { recording, timeline } = this;
    for (const each of [...this.cards, this.detail]) each.update(tick);
    for (const group of this.groups) this.#score(group, tick);
    const words = `step ${recording.arrays.steps[tick]} of ${recording.lastStep}`
      + (recording.arrays.resets[tick] && tick ? ", reset" : "");
    const scrub = byId("scrub");
    scrub.value = tick;
    scrub.setAttribute("aria-valuetext", words);
    setText(byId("position"), words);
    if (showPlaying(byId("play"), timeline.isPlaying)) {
      this.say(timeline.isPlaying ? "playing" : `paused at ${words}`);
    }
  }

  // Tell people who do not see the page.
  say(text) {
    setText(byId("live"), text);
  }

  jump(kind, direction = 1) {
    const { recording } = this;
    const event = findEvent(recording, kind, this.timeline.tick, direction);
    if (!event) {
      const words = `no ${direction > 0 ? "later" : "earlier"} ${kind}`;
      this.say(words);
      byId("position").append(` (${words})`);
      return;
    }
    this.#goTo(event.tick, event.envs);
    this.say(`${kind}: environment ${event.envs.map((e) => recording.envs[e]).join(", ")}, `
      + `step ${recording.arrays.steps[event.tick]}`);
  }

  goToDifference() {
    const { difference, differenceTick, differenceEnv } = this.recording;
    if (difference) this.#goTo(differenceTick, differenceEnv < 0 ? [] : [differenceEnv]);
  }

  // Pause at a tick, bring the first of some environments to the screen, flash them all.
  #goTo(tick, envs) {
    this.timeline.isPlaying = false;
    this.timeline.go(tick);
    if (!envs.length) return;
    if (this.detail.isOpen) {
      if (!envs.includes(this.detail.e)) this.detail.open(envs[0]);
      return;
    }
    this.cards[envs[0]].root.scrollIntoView({ block: "nearest", inline: "nearest" });
    for (const e of envs) {
      const { root } = this.cards[e];
      root.classList.remove("flash");
      void root.offsetWidth; // starts the animation anew
      root.classList.add("flash");
    }
  }
}

readData(byId("data").textContent).then(
  (recording) => { globalThis.watchPage = new Page(recording); },
).catch((error) => {
  byId("envs").replaceChildren(el("p", { className: "notice", role: "alert" },
    `The page cannot be shown. ${error.message}`));
  throw error;
});
