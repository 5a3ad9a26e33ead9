// ------------------------------------------------------------------ the page

const FILTERS = {
  all: ["all", () => true],
  success: ["with a success", (s) => s.successes > 0],
  failure: ["without a success", (s) => s.successes === 0],
  end: ["with an end", (s) => s.ends > 0],
  fault: ["with a fault", (s) => s.faults > 0],
};

// By number, or by the mean return of the episodes that ended.
const ORDERS = {
  number: ["number", () => 0],
  best: ["highest return", (a, b) => b.meanReturn - a.meanReturn],
  worst: ["lowest return", (a, b) => a.meanReturn - b.meanReturn],
};

class Page {
  constructor(recording) {
    this.recording = recording;
    this.painter = new Painter(recording);
    this.timeline = new Timeline(recording, (tick) => this.show(tick));
    this.shown = recording.envs.map((_, e) => e);
    this.detail = new Detail(recording, this.painter, this.timeline, () => this.shown,
      () => this.link());
    this.cards = recording.envs.map((_, e) =>
      new Card(recording, this.painter, e, (env) => this.detail.open(env)));
    this.#head();
    this.#layOut();
    this.controls = new Controls(this);
    this.show(0);
    this.#followLink();
    this.isReady = true;
    addEventListener("hashchange", () => this.#followLink());
  }

  // ---- what stands above the environments

  #head() {
    const { recording } = this, total = { ends: 0, successes: 0, faults: 0 };
    for (const s of recording.summary) {
      for (const key of Object.keys(total)) total[key] += s[key];
    }
    setText(byId("title"), recording.id);
    const facts = [plural(recording.numEnvs, "environment"),
      plural(recording.lastStep, "step"), plural(total.ends, "episode") + " ended"];
    if (recording.summary.some((s) => s.successes || s.failures)) {
      facts.push(plural(total.successes, "success").replace(/successs$/, "successes"));
    }
    if (total.faults) facts.push(plural(total.faults, "fault"));
    for (const [name, value] of recording.details) facts.push(`${name} ${value}`);
    byId("facts").replaceChildren(...facts.map((fact) => el("span", {}, fact)));
    const difference = recording.difference, banner = byId("banner");
    if (difference) {
      const env = difference.env === null ? "unknown environment"
        : `environment ${difference.env}`;
      const jump = el("button", { type: "button" }, "Go there (d)");
      jump.addEventListener("click", () => this.goToDifference());
      banner.replaceChildren(el("strong", {}, icon("differs"), " First difference "),
        el("span", {}, `step ${difference.step}, ${env}, `),
        el("code", {}, difference.field), ": recorded ",
        el("code", {}, difference.recorded), ", now ",
        el("code", {}, difference.present), " ", jump);
      banner.className = "different";
      banner.setAttribute("role", "alert");
      byId("difference").hidden = false;
    } else if (recording.isReplay) {
      banner.replaceChildren(icon("check"), " Played again, and identical to the file, bit by "
        + `bit: all results of ${plural(recording.lastStep, "step")}.`);
      banner.className = "identical";
    }
    banner.hidden = !(difference || recording.isReplay);
  }

  #layOut() {
    const { recording } = this, main = byId("envs");
    this.nothing = el("p", { className: "nothing", hidden: true },
      "No environment fits the filter.");
    this.groups = [];
    if (recording.groupSize > 1) {
      for (const card of this.cards) {
        const number = recording.groupOf(card.e);
        let group = this.groups.at(-1);
        if (!group || group.number !== number) {
          const first = number * recording.groupSize, id = `group-${number}`;
          const last = first + recording.groupSize - 1;
          group = { number, cards: [], row: el("div", { className: "row" }),
            score: el("span", { className: "score" }) };
          group.root = el("section", { className: "siblings", "aria-labelledby": id },
            el("h2", { id }, `Group ${number}`,
              el("small", {}, ` environments ${first}–${last}, one task`), group.score),
            group.row);
          this.groups.push(group);
        }
        group.cards.push(card);
        group.row.append(card.root);
      }
      main.replaceChildren(...this.groups.map((group) => group.root), this.nothing);
      main.classList.add("grouped");
    } else {
      main.replaceChildren(...this.cards.map((card) => card.root), this.nothing);
    }
    main.classList.toggle("texts", recording.isText);
    // Only cards near the screen are drawn.
    const byRoot = new Map(this.cards.map((card) => [card.root, card]));
    this.observer = new IntersectionObserver((entries) => {
      for (const entry of entries) {
        const card = byRoot.get(entry.target);
        card.isNear = entry.isIntersecting;
        card.update(this.timeline.tick);
      }
    }, { rootMargin: "200px" });
    for (const card of this.cards) this.observer.observe(card.root);
  }

  // ---- time

  show(tick) {
    const { recording, timeline } = this;
    for (const card of this.cards) card.update(tick);
    this.detail.update(tick);
    for (const group of this.groups) this.#score(group, tick);
    if (!timeline.isPlaying && this.isReady) this.link();
    const step = recording.arrays.steps[tick], isReset = recording.arrays.resets[tick];
    const words = `step ${step} of ${recording.lastStep}`
      + (isReset && tick ? ", reset" : "");
    byId("position").textContent = words;
    const scrub = byId("scrub");
    scrub.value = tick;
    scrub.setAttribute("aria-valuetext", words);
    if (showPlaying(byId("play"), timeline.isPlaying)) {
      this.say(timeline.isPlaying ? "playing" : `paused at ${words}`);
    }
  }

  // ---- links to a step and an environment: page.html#step=12&env=3

  #followLink() {
    const { recording, timeline } = this, link = new URLSearchParams(location.hash.slice(1));
    const step = link.get("step"), e = recording.envs.indexOf(Number(link.get("env") ?? -1));
    if (step !== null) {
      const tick = recording.arrays.steps.indexOf(Number(step));
      timeline.isPlaying = false;
      timeline.go(tick >= 0 ? tick : timeline.tick);
    }
    if (e >= 0) {
      this.cards[e].root.scrollIntoView({ block: "center" });
      this.detail.open(e);
    } else {
      this.detail.dialog.close();
    }
  }

  link() {
    const { recording, timeline, detail } = this;
    const env = detail.isOpen ? `&env=${recording.envs[detail.e]}` : "";
    history.replaceState(null, "", `#step=${recording.arrays.steps[timeline.tick]}${env}`);
  }

  #score(group, tick) {
    const { recording } = this;
    let best = -Infinity, sum = 0, count = 0, successes = 0;
    for (const { e } of group.cards) {
      const t = recording.latest(e, tick);
      if (t < 0) continue;
      const value = recording.sum(e, t);
      best = Math.max(best, value);
      sum += value;
      count++;
      if (recording.state(e, t) === "success") successes++;
    }
    setText(group.score, count
      ? `sum: mean ${number(sum / count)}, best ${number(best)} · successes now ${successes}`
      : "");
  }

  say(text) {
    byId("live").textContent = text;
  }

  jump(kind, direction = 1) {
    const { recording, timeline } = this;
    const event = findEvent(recording, kind, this.shown, timeline.tick, direction);
    if (!event) {
      this.say(`no ${direction > 0 ? "later" : "earlier"} ${kind}`);
      byId("position").textContent += ` (no ${direction > 0 ? "later" : "earlier"} ${kind})`;
      return;
    }
    timeline.isPlaying = false;
    timeline.go(event.tick);
    this.#point(event.envs);
    this.say(`${kind}: environment ${event.envs.map((e) => recording.envs[e]).join(", ")}, `
      + `step ${recording.arrays.steps[event.tick]}`);
  }

  goToDifference() {
    const { recording, timeline } = this;
    if (!recording.difference) return;
    timeline.isPlaying = false;
    timeline.go(recording.differenceTick);
    if (recording.differenceEnv >= 0) this.#point([recording.differenceEnv]);
  }

  // Bring the first of some environments to the screen, and flash all of them.
  #point(envs) {
    if (this.detail.isOpen) {
      if (!envs.includes(this.detail.e)) this.detail.open(envs[0]);
      return;
    }
    const calm = matchMedia("(prefers-reduced-motion: reduce)").matches;
    this.cards[envs[0]].root.scrollIntoView(
      { block: "nearest", inline: "nearest", behavior: calm ? "auto" : "smooth" });
    for (const e of envs) {
      const { root } = this.cards[e];
      root.classList.remove("flash");
      void root.offsetWidth; // starts the animation anew
      root.classList.add("flash");
    }
  }

  // ---- which environments

  filter() {
    const { recording } = this, [, test] = FILTERS[byId("filter").value];
    const wanted = parseNumbers(byId("find").value);
    this.shown = [];
    for (const card of this.cards) {
      const isShown = test(recording.summary[card.e])
        && (!wanted || wanted(recording.envs[card.e]));
      card.root.hidden = !isShown;
      if (isShown) this.shown.push(card.e);
    }
    for (const group of this.groups) {
      group.root.hidden = group.cards.every((card) => card.root.hidden);
    }
    if (this.order) this.shown.sort(this.order);
    this.nothing.hidden = this.shown.length > 0;
    this.marks();
    this.say(`${plural(this.shown.length, "environment")} shown`);
  }

  // Siblings stay in their group.  The order of the document is that of the keyboard.
  sort(name) {
    const { summary } = this.recording, [, compare] = ORDERS[name];
    const order = (cards) =>
      [...cards].sort((a, b) => compare(summary[a.e], summary[b.e]) || a.e - b.e);
    if (this.groups.length) {
      for (const group of this.groups) {
        group.row.append(...order(group.cards).map((card) => card.root));
      }
    } else {
      this.nothing.before(...order(this.cards).map((card) => card.root));
    }
    const place = new Map([...document.querySelectorAll(".card")].map((root, i) =>
      [Number(root.dataset.env), i]));
    const { envs } = this.recording;
    this.order = (a, b) => place.get(envs[a]) - place.get(envs[b]);
    this.shown.sort(this.order);
    this.say(`sorted by ${ORDERS[name][0]}`);
  }

  marks() {
    drawMarks(byId("marks"), this.recording, this.shown);
  }
}

// A test for numbers such as "3, 8-15"; null: every number.
function parseNumbers(text) {
  const ranges = [...text.matchAll(/(\d+)(?:\s*[-–]\s*(\d+))?/g)]
    .map(([, low, high]) => [Number(low), Number(high ?? low)]);
  if (!ranges.length) return null;
  return (value) => ranges.some(([low, high]) => low <= value && value <= high);
}
