// ------------------------------------------------------------------ buttons and keys

// Connect the buttons and keys with a page.
function connect(page) {
  const { recording, timeline } = page;
  const scrub = byId("scrub"), speed = byId("speed"), help = byId("keys"), marks = byId("marks");
  const step = (by) => (event) => timeline.go(timeline.tick + (event.shiftKey ? 10 * by : by));
  const jump = (kind) => (event) => page.jump(kind, event.shiftKey ? -1 : 1);
  const acts = {
    first: () => timeline.go(0),
    previous: step(-1),
    play: () => timeline.play(),
    next: step(1),
    last: () => timeline.go(recording.numTicks - 1),
    end: jump("end"),
    success: jump("success"),
    fault: jump("fault"),
    help: () => (help.open ? help.close() : help.showModal()),
  };
  const setSpeed = (number) => {
    timeline.speed = speed.value = Number(number);
    page.say(`speed ${SPEEDS[number - 1]} steps a second`);
  };
  // As the list of keys shows them; the acts by the names of the keys.
  const keys = [
    ["Space", "play or pause", { " ": acts.play }],
    ["← →", "one step back or forward; with Shift ten",
      { arrowleft: acts.previous, arrowright: acts.next }],
    ["Home End", "start, end", { home: acts.first, end: acts.last }],
    ["1 … 7", `speed: ${SPEEDS.join(", ")} steps a second`,
      Object.fromEntries(SPEEDS.map((_, i) => [i + 1, () => setSpeed(i + 1)]))],
    ["e s f", "next end, success, fault; with Shift the one before",
      { e: acts.end, s: acts.success, f: acts.fault }],
    ["d", "first difference of a replay", { d: () => page.goToDifference() }],
    ["Tab Enter", "choose an environment and enlarge it", {}],
    ["[ ]", "enlarged: environment before, after",
      { "[": () => page.detail.move(-1), "]": () => page.detail.move(1) }],
    ["Esc", "close", {}],
    ["?", "this list", { "?": acts.help }],
  ];
  const byKey = Object.assign({}, ...keys.map(([, , each]) => each));

  for (const [id, act] of Object.entries(acts)) byId(id).addEventListener("click", act);
  scrub.max = recording.numTicks - 1;
  scrub.addEventListener("input", () => timeline.go(Number(scrub.value)));
  SPEEDS.forEach((rate, i) => speed.append(el("option", { value: i + 1 }, `${rate} a second`)));
  speed.value = timeline.speed;
  speed.addEventListener("change", () => setSpeed(speed.value));
  document.addEventListener("keydown", (event) => {
    const { key, target } = event, act = byKey[key.toLowerCase()];
    const hasModifier = event.ctrlKey || event.altKey || event.metaKey;
    // A button that has the focus is pressed by the space bar itself.
    const isOfButton = key === " " && target.matches("button, summary");
    if (!act || hasModifier || isOfButton || target.matches("select")) return;
    act(event);
    event.preventDefault();
  });
  const draw = () => drawMarks(marks, recording);
  new ResizeObserver(draw).observe(marks);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);
  const close = el("button", { type: "button", className: "main",
    onclick: () => help.close() }, "Close");
  help.append(el("h2", { id: "keys-title" }, "Keys"),
    el("dl", { className: "table" }, ...keys.flatMap(([names, text]) => [
      el("dt", {}, ...names.split(" ").flatMap((name) => [el("kbd", {}, name), " "])),
      el("dd", {}, text)])), close);
}
