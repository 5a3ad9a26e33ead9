// ------------------------------------------------------------------ time

const SPEEDS = [1, 2, 4, 8, 15, 30, 60];

class Timeline {
  #waiting = 0;
  #last = 0;

  constructor(recording, show) {
    this.recording = recording;
    this.show = show;
    this.tick = 0;
    this.isPlaying = false;
    this.speed = 3;
  }

  go(tick) {
    this.tick = Math.max(0, Math.min(this.recording.numTicks - 1, tick));
    this.show(this.tick);
  }

  // Play, or pause.
  play() {
    this.isPlaying = !this.isPlaying;
    if (this.isPlaying && this.tick >= this.recording.numTicks - 1) this.tick = 0;
    this.#last = performance.now();
    this.#waiting = 0;
    if (this.isPlaying) requestAnimationFrame((now) => this.#advance(now));
    this.show(this.tick);
  }

  #advance(now) {
    if (!this.isPlaying) return;
    this.#waiting += Math.max(0, now - this.#last) * SPEEDS[this.speed - 1] / 1000;
    this.#last = now;
    const steps = Math.floor(this.#waiting);
    if (steps) {
      this.#waiting -= steps;
      const end = this.recording.numTicks - 1;
      if (this.tick + steps >= end) this.isPlaying = false;
      this.go(this.tick + steps);
    }
    if (this.isPlaying) requestAnimationFrame((later) => this.#advance(later));
  }
}

const EVENTS = {
  end: (f) => f & END,
  success: (f) => f & SUCCESS && f & END,
  fault: (f) => f & FAULT,
};

// The next tick (or the one before, direction -1) at which an environment has an event,
// and all environments that have it then; null: there is none.
function findEvent(recording, kind, tick, direction) {
  for (let t = tick + direction; t >= 0 && t < recording.numTicks; t += direction) {
    const envs = [...recording.envs.keys()]
      .filter((e) => EVENTS[kind](recording.flags(e, t)));
    if (envs.length) return { tick: t, envs };
  }
  return null;
}

// Bars above the slider: the ends at each tick, by their kind.
function drawMarks(canvas, recording) {
  const { clientWidth: width, clientHeight: height } = canvas, T = recording.numTicks;
  const ratio = globalThis.devicePixelRatio || 1;
  canvas.width = Math.round(width * ratio);
  canvas.height = Math.round(height * ratio);
  const context = canvas.getContext("2d"), style = getComputedStyle(document.documentElement);
  context.scale(ratio, ratio);
  const fill = (colour, ...rectangle) => {
    context.fillStyle = style.getPropertyValue(`--${colour}`);
    context.fillRect(...rectangle);
  };
  const kinds = ["success", "failure", "end", "fault"];
  const columns = Math.max(1, Math.min(T, Math.floor(width / 3)));
  const counts = Array.from({ length: columns }, () => kinds.map(() => 0));
  for (let e = 0; e < recording.envs.length; e++) {
    for (let t = 0; t < T; t++) {
      const kind = kinds.indexOf(recording.state(e, t));
      if (kind >= 0) counts[Math.floor(t * columns / T)][kind]++;
    }
  }
  const most = Math.max(1, ...counts.map((column) => column.reduce((sum, n) => sum + n)));
  // The thumb of the slider is 16 pixels wide: its centre goes from 8 to width - 8.
  const place = (index, length) => 8 + (width - 16) * index / Math.max(1, length - 1);
  const bar = Math.max(2, Math.min(8, (width - 16) / columns - 1));
  counts.forEach((column, c) => {
    let y = height;
    column.forEach((count, k) => {
      if (!count) return;
      const size = Math.max(3, height * count / most);
      y -= size;
      fill(kinds[k], place(c, columns) - bar / 2, y, bar, size);
    });
  });
  const { differenceTick } = recording;
  if (differenceTick >= 0) fill("difference", place(differenceTick, T) - 1, 0, 2, height);
}
