// ------------------------------------------------------------------ the data
// The form of the data is described in packing.py.

const RESET = 1, STEP = 2, TERMINATED = 4, TRUNCATED = 8, SAYS_SUCCESS = 16,
  SUCCESS = 32, FAULT = 64;
const END = TERMINATED | TRUNCATED;
const DTYPES = { uint8: Uint8Array, uint32: Uint32Array, float64: Float64Array };

// The icon and the word of each state of an environment.
const STATES = {
  playing: ["", "playing"],
  success: ["check", "success"],
  failure: ["close", "no success"],
  end: ["square", "ended"],
  fault: ["warning", "fault"],
};

async function readData(text) {
  if (typeof DecompressionStream === "undefined") {
    throw new Error("This browser is too old to unpack the data of this page. Chrome 97, "
      + "Firefox 113, Safari 16.4 and later ones do.");
  }
  const packed = Uint8Array.from(atob(text.trim()), (c) => c.charCodeAt(0));
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate"));
  const buffer = await new Response(stream).arrayBuffer();
  const length = new DataView(buffer).getUint32(0, true);
  const header = JSON.parse(new TextDecoder().decode(new Uint8Array(buffer, 4, length)));
  const arrays = {};
  for (const [name, [dtype, offset, size]] of Object.entries(header.arrays)) {
    arrays[name] = new DTYPES[dtype](buffer, 4 + length + offset, size);
  }
  return new Recording(header, arrays);
}

// Environments are numbered by their place on the page, e, and ticks by t.
class Recording {
  constructor(header, arrays) {
    Object.assign(this, header);
    this.arrays = arrays;
    this.numTicks = arrays.steps.length;
    this.lastStep = arrays.steps[this.numTicks - 1];
    let offset = 0;
    this.boardOffsets = header.boardShapes.map(([height, width]) => {
      offset += height * width;
      return offset - height * width;
    });
    this.#follow();
    this.#findDifference();
  }

  // Sums, lengths and starts of episodes, and the frame that is visible at each tick.
  #follow() {
    const E = this.envs.length, T = this.numTicks, { flags, rewards } = this.arrays;
    this.latestTick = new Int32Array(E * T);
    this.startTick = new Int32Array(E * T);
    this.sums = new Float64Array(E * T);
    this.lengths = new Uint32Array(E * T);
    this.episodes = new Uint32Array(E * T);
    for (let e = 0; e < E; e++) {
      let latest = -1, start = -1, sum = 0, length = 0, episode = 0;
      for (let i = e * T; i < e * T + T; i++) {
        if (flags[i]) latest = i - e * T;
        if (flags[i] & RESET) {
          start = latest;
          sum = length = 0;
          episode++;
        } else if (flags[i] & STEP) {
          sum += rewards[i];
          length++;
        }
        this.latestTick[i] = latest;
        this.startTick[i] = start;
        this.sums[i] = sum;
        this.lengths[i] = length;
        this.episodes[i] = episode;
      }
    }
  }

  #findDifference() {
    this.differenceTick = this.differenceEnv = -1;
    const { difference, arrays } = this;
    if (!difference) return;
    this.differenceEnv = difference.env_id === null ? -1 : this.envs.indexOf(difference.env_id);
    // Where a step ends one episode and begins the next, it is two ticks.
    const isOfStep = /^(rewards|terminations|truncations|infos\['final)/.test(difference.field);
    const last = arrays.steps.findLastIndex((step, t) =>
      step === difference.step && !(isOfStep && arrays.resets[t]));
    this.differenceTick = last >= 0 ? last : this.numTicks - 1;
  }

  differs(e, tick) { return this.differenceEnv === e && tick >= this.differenceTick; }

  flags(e, t) { return this.arrays.flags[e * this.numTicks + t]; }
  latest(e, t) { return this.latestTick[e * this.numTicks + t]; }
  start(e, t) { return this.startTick[e * this.numTicks + t]; }
  sum(e, t) { return this.sums[e * this.numTicks + t]; }
  length(e, t) { return this.lengths[e * this.numTicks + t]; }
  episode(e, t) { return this.episodes[e * this.numTicks + t]; }
  reward(e, t) { return this.arrays.rewards[e * this.numTicks + t]; }

  // The value of a table that a frame has; undefined: it has none.
  #entry(name, table, e, t) { return table[this.arrays[name][e * this.numTicks + t] - 1]; }
  action(e, t) { return this.#entry("action", this.actions, e, t) ?? ""; }
  text(e, t) { return this.#entry("text", this.texts, e, t); }
  fault(e, t) { return this.#entry("fault", this.faults, e, t); }

  // The infos of a frame, as pairs of names and values.
  infosOf(e, t) {
    return this.infos.map(({ name, values }, k) => [name, this.#entry(`info_${k}`, values, e, t)])
      .filter(([, value]) => value !== undefined);
  }

  // The codes of a board with its height and width; null: the frame has none.
  board(e, t) {
    const index = this.arrays.board[e * this.numTicks + t] - 1;
    if (index < 0) return null;
    const [height, width] = this.boardShapes[index], offset = this.boardOffsets[index];
    const codes = this.arrays.boards.subarray(offset, offset + height * width);
    return { height, width, codes };
  }

  // The number of a picture, from 1; 0: the frame has none.
  picture(e, t) { return this.arrays.picture[e * this.numTicks + t]; }

  pictureFile(number) {
    const begin = number > 1 ? this.pictureEnds[number - 2] : 0;
    const bytes = this.arrays.pictures.subarray(begin, this.pictureEnds[number - 1]);
    return new Blob([bytes], { type: "image/png" });
  }

  // The state of an environment: a key of STATES.
  state(e, t) {
    const f = this.flags(e, t);
    if (f & FAULT) return "fault";
    if (!(f & END)) return "playing";
    if (f & SUCCESS) return "success";
    return f & SAYS_SUCCESS ? "failure" : "end";
  }
}
